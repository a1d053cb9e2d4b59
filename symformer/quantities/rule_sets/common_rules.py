"""Rules that several rule sets share: training FLOPs per weight, per matrix and per query-key pair."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from sympy import Expr, Integer

from ...formulas.account import Term
from ...language.errors import RuleError
from ...language.symbols import B, S
from ...ledger.facts import (
    ARRANGING,
    ATTENDING,
    CARRYING,
    COMPRESSING,
    MATCHING,
    POINTWISE,
    ROUTING,
    Entry,
    OperationKind,
)
from .linear_roles import Role, RoleTable
from .rule_set import Counting, RuleSet

TWO, SIX = Integer(2), Integer(6)


def counts_nothing(entry: Entry, reading: RoleTable) -> tuple[Term, ...]:
    """Return no terms: the rule set does not count this operation."""
    return ()


def refuse_observed(entry: Entry, reading: RoleTable) -> tuple[Term, ...]:
    """Raise RuleError for an operation that was traced but not recognized."""
    raise RuleError(
        f"{entry.path}: this was traced for {entry.measured} and not recognized, and a rule set counts only recognized "
        "operations"
    )


def refuse_misread(rules: RuleSet, reading: RoleTable, known: Collection[str], mixed: Collection[str]) -> None:
    """Raise RuleError for a model type whose config the code base does not read, or reads incorrectly.

    ``mixed`` are the types for which it counts experts in every layer.
    """
    if reading.name not in known:
        raise rules.refuse(f"{rules.who}'s rules are not supported for {reading.name}; supported: {', '.join(known)}")
    for entry in reading.of(OperationKind.LINEAR):
        if reading.name in mixed and reading.role(entry) is Role.MLP:
            raise rules.refuse(
                f"for {reading.name}, {rules.who} counts experts in every layer, but {entry.path} is in a layer "
                "without them"
            )


def refuse_unlisted(entry: Entry, reading: RoleTable) -> tuple[Term, ...]:
    """Raise RuleError for an operation without a rule; models with such operations are rejected earlier."""
    raise RuleError(f"{entry.path}: there is no rule for the operation {entry.kind.value!r}")


# The kinds that no rule set counts, and those that none has a rule for.
SILENT: Mapping[OperationKind, Counting] = {
    **dict.fromkeys((*POINTWISE, *ARRANGING, *ROUTING), counts_nothing),
    **dict.fromkeys((*CARRYING, *COMPRESSING, *MATCHING, OperationKind.CONVOLUTION), refuse_unlisted),
    OperationKind.OBSERVED: refuse_observed,
}


def weights(entry: Entry, reading: RoleTable) -> tuple[Term, ...]:
    """Return 6 FLOPs per token for each stored element; a tied embedding counts in the LM head."""
    found = [weight for weight in entry.weights if weight not in reading.tables]
    if entry.logits:
        found += [weight for weight in entry.shared if weight in reading.tables]
    return tuple(Term(weight.path, (SIX, B, S, *weight.shape)) for weight in found)


def matrix(entry: Entry, each: Expr = SIX) -> tuple[Term, ...]:
    """x[B, S, in] · W[out, in]: 6 · B · S · in · out, and K times that for experts."""
    *positions, out = entry.output.shape
    return (Term(entry.path, (each, *positions, entry.inputs[0].width, out)),)


def attention_rules(
    pairs: Callable[[Entry, RoleTable, Expr], tuple[Expr, ...]], each: Expr = SIX
) -> Mapping[OperationKind, Counting]:
    """Return the rules of the two products of attention: 6 · B · A · pairs · D each."""

    def rule(entry: Entry, reading: RoleTable) -> tuple[Term, ...]:
        shape = entry.output.shape if entry.kind is OperationKind.SCORES else entry.inputs[0].shape
        width = entry.inputs[0].width if entry.kind is OperationKind.SCORES else entry.output.width
        batch, heads, queries, _ = shape
        return (Term(entry.path, (each, batch, heads, *pairs(entry, reading, queries), width)),)

    return dict.fromkeys(ATTENDING, rule)


def all_pairs(entry: Entry, reading: RoleTable, length: Expr) -> tuple[Expr, ...]:
    """Return all query-key pairs, masked or not, regardless of the window."""
    return (length, length)


def half_of_pairs(entry: Entry, reading: RoleTable, length: Expr) -> tuple[Expr, ...]:
    """Return half of all pairs, for a causal mask, regardless of the window."""
    return (length, length / 2)


def rule_by_role(who: str, rules: Mapping[Role, Counting]) -> Counting:
    """Return a rule for linear layers by role. It raises RuleError for a role without a rule."""

    def rule(entry: Entry, reading: RoleTable) -> tuple[Term, ...]:
        role = reading.role(entry)
        if role not in rules:
            raise RuleError(f"{entry.path} is {_spoken(role)}, and the rules of {who} do not cover it")
        return rules[role](entry, reading)

    return rule


def _spoken(role: Role) -> str:
    return "not recognized as a matrix of attention, of an MLP or of a router" if role is Role.OTHER else role.value
