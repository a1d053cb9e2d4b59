"""Bytes that a run reads at least: every weight that it uses once, and the cache once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..formulas.account import Line, Term
from ..language.errors import RuleError
from ..ledger.facts import COMPRESSING, STORING, Entry, Ledger, OperationKind
from .cache_rules import cacheable
from .inference_memory import QUANTITY as MEMORY
from .inference_memory import InferenceMemory
from .quantity import Conventions, Rule, counts_nothing, tally
from .stored_format import InFormat


def weight_terms(
    ledger: Ledger, kept: Mapping[int, tuple[Term, ...]], conventions: Conventions, decodes: bool
) -> dict[int, tuple[Term, ...]]:
    """Return the bytes of the weights that a run reads, by the ``id`` of the entry that stores them.

    Tables whose rows are looked up are not read as a whole. Of the X experts of a layer, the K of one token are read.

    Parameters
    ----------
    ledger
        The operations of the model.
    kept
        The bytes of the weights of every entry.
    conventions
        The conventions of the quantity.
    decodes
        Whether the run is a decoding step, in which an encoder does not run.

    """
    entries = [entry for _, entry in ledger]
    runs = [each for each in entries if each.kind is not OperationKind.LOOKUP and not (decodes and each.output.encoded)]
    shared = {weight.path for entry in entries for weight in entry.shared}
    used = {weight.path for entry in runs for weight in entry.shared}
    # An operation uses the weights that it stores. A weight that is stored by itself is used by those that share it.
    used |= {
        weight.path
        for entry in runs
        for weight in entry.weights
        if entry.kind is not OperationKind.PARAMETER or weight.path not in shared
    }
    found: dict[int, tuple[Term, ...]] = {}
    for entry in entries:
        if not used.isdisjoint(weight.path for weight in entry.weights):
            found[id(entry)] = tuple(_of_token(entry, term, conventions) for term in kept.get(id(entry), ()))
    return found


def _of_token(entry: Entry, term: Term, conventions: Conventions) -> Term:
    """Return the bytes of the experts that one token is routed to: K of X."""
    if entry.kind is not OperationKind.EXPERTS:
        return term
    if conventions.get("expert") == "on":
        raise RuleError(
            f"{entry.path}: with expert=on, the number of a token's K experts on one rank differs from token to token"
        )
    return replace(term, factors=(*term.factors, entry.output.shape[-2] / entry.weights[0].shape[0]))


@dataclass(frozen=True)
class WeightReads(InFormat):
    """The bytes of the weights that a forward pass reads, each once."""

    def account(self, ledger: Ledger, conventions: Conventions) -> Line:
        """Return the bytes of the weights of every entry that runs."""
        for _, entry in ledger:
            self.rules[entry.kind](entry, conventions)
        kept = weight_terms(ledger, self.stored(ledger, conventions).terms, conventions, decodes=False)
        return tally(ledger.root, lambda entry: kept.get(id(entry), ()))


@dataclass(frozen=True)
class DecodeReads(InferenceMemory):
    """The bytes of the weights and of the cache that a decoding step reads, each once."""

    def account(self, ledger: Ledger, conventions: Conventions) -> Line:
        """Return the account: the bytes of the weights of each entry, then of its cache."""
        fixed = {**conventions, "window": "needed", "block": "off"}
        kept = weight_terms(ledger, self.stored(ledger, conventions).terms, conventions, decodes=True)
        return tally(ledger.root, lambda entry: (*kept.get(id(entry), ()), *self.rules[entry.kind](entry, fixed)))


def _of_all_keys(rule: Rule) -> Rule:
    """Return the rule for attention that reads the keys of all cached tokens, within any window."""

    def terms(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
        cacheable(entry)
        if entry.chosen is not None or entry.kind in COMPRESSING:
            raise RuleError(
                f"{entry.path}: the keys that a decoding step reads at least are not known for attention that chooses "
                "or compresses keys"
            )
        return rule(entry, conventions)

    return terms


# Like inference memory, without the logits, which are written.
DECODE_RULES: Mapping[OperationKind, Any] = {
    kind: _of_all_keys(counts_nothing if kind in STORING and kind is not OperationKind.CONVOLUTION else rule)
    for kind, rule in MEMORY.rules.items()
}
