"""nanoGPT's estimate_mfu: 6N + 12LHQT FLOPs per token, with N excluding the position embedding."""

from __future__ import annotations

from sympy import Symbol, cancel

from ...formulas.account import Term
from ...language.errors import RuleError
from ...language.sizes import Condition, Equals
from ...ledger.facts import STORING, Entry, OperationKind
from .common_rules import SILENT, all_pairs, attention_rules, weights
from .linear_roles import RoleTable
from .rule_set import RuleSet


def refuse_experts(reading: RoleTable) -> None:
    """Raise RuleError for a mixture of experts."""
    if experts := reading.of(OperationKind.EXPERTS):
        raise NANOGPT.refuse(f"nanoGPT has one MLP per layer, but {experts[0].path} is a mixture of experts")


def tables(entry: Entry, reading: RoleTable) -> tuple[Term, ...]:
    """Return the terms of a token embedding; positions add nothing. Raises RuleError for any other table."""
    if entry.function == "positions":
        return ()
    if entry.function != "tokens":
        raise RuleError(f"{entry.path}: nanoGPT has token and position embeddings only, not {entry.function}")
    return weights(entry, reading)


def heads_span_width(reading: RoleTable) -> tuple[Condition, ...]:
    """Return the condition that H·Q equals the hidden size, as in nanoGPT. Raises RuleError if it cannot."""
    found: dict[Condition, None] = {}
    width = next(entry.output.width for entry in reading.of(OperationKind.LOOKUP) if entry.function == "tokens")
    for entry in reading.of(OperationKind.SCORES):
        heads = entry.inputs[0].shape[1] * entry.inputs[0].width
        if cancel(heads - width) == 0:
            continue
        if not isinstance(width, Symbol):
            raise NANOGPT.refuse(f"the heads of {entry.path} have a total width of {heads}; nanoGPT requires {width}")
        found[Equals(width, heads, "counted=nanogpt requires that the heads divide the hidden size")] = None
    return tuple(found)


NANOGPT = RuleSet(
    "nanogpt",
    "nanoGPT",
    "model.py, GPT.estimate_mfu",
    "https://github.com/karpathy/nanoGPT/blob/3adf61e154c3fe3fca428ad6bc3818b27a3b8291/model.py#L289",
    "6 FLOPs per token for every parameter except the position embedding, and full attention",
    "The FLOPs of one forward and one backward pass over B sequences of S tokens, by nanoGPT's rule (model.py, "
    "estimate_mfu): ``6N + 12LHQT`` FLOPs per token, after Chowdhery et al. 2022 [chowdhery2022]. ``N`` counts all "
    "parameters, including biases and norms, except the position embedding. The token embedding counts, once if it is "
    "tied to the LM head. In every head, every query-key pair adds 12 FLOPs per element of the head dimension, masked "
    "or not, regardless of the window. ``T`` is the block size, here S, and the ``H`` heads divide the hidden size.",
    {**SILENT, **dict.fromkeys(STORING, weights), OperationKind.LOOKUP: tables, **attention_rules(all_pairs)},
    holds=refuse_experts,
    needs=heads_span_width,
)
