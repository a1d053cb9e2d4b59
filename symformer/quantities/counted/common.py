"""What rule sets have in common: FLOPs of a forward and a backward pass, for a weight, a matrix, a query-key pair."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sympy import Expr, Integer

from ...formulas.account import Term
from ...language.errors import RuleError
from ...language.symbols import B, S
from ...ledger.facts import (
    ARRANGING,
    ATTENDING,
    CARRYING,
    MATCHING,
    POINTWISE,
    ROUTING,
    Entry,
    Kind,
)
from .roles import Reading, Role
from .rule_set import Counting

TWO, SIX = Integer(2), Integer(6)


def nothing(entry: Entry, reading: Reading) -> tuple[Term, ...]:
    """The stated rule of a kind that adds nothing."""
    return ()


def unseen(entry: Entry, reading: Reading) -> tuple[Term, ...]:
    """What a trace saw and nobody recognised. Raises RuleError."""
    raise RuleError(f"{entry.path}: a trace saw this for {entry.measured}, and a rule set counts what is recognised")


def unstated(entry: Entry, reading: Reading) -> tuple[Term, ...]:
    """What no rule set is asked for, as models with it are refused before. Raises RuleError."""
    raise RuleError(f"{entry.path}: no rule is stated for the operation {entry.kind.value!r}")


# What no rule set counts, and what none has a rule for.
SILENT: Mapping[Kind, Counting] = {
    **dict.fromkeys((*POINTWISE, *ARRANGING, *ROUTING), nothing),
    **dict.fromkeys((*CARRYING, *MATCHING, Kind.CONVOLUTION), unstated),
    Kind.OBSERVED: unseen,
}


def weights(entry: Entry, reading: Reading) -> tuple[Term, ...]:
    """6 FLOPs a token for each element that is stored here, and for a table that the head is tied to."""
    found = [weight for weight in entry.weights if weight not in reading.tables]
    if entry.logits:
        found += [weight for weight in entry.shared if weight in reading.tables]
    return tuple(Term(weight.path, (SIX, B, S, *weight.shape)) for weight in found)


def matrix(entry: Entry, each: Expr = SIX) -> tuple[Term, ...]:
    """x[B, S, in] · W[out, in]: 6 · B · S · in · out, of experts K times."""
    *positions, out = entry.output.shape
    return (Term(entry.path, (each, *positions, entry.inputs[0].width, out)),)


def attending(pairs: Callable[[Entry, Reading, Expr], tuple[Expr, ...]], each: Expr = SIX) -> Mapping[Kind, Counting]:
    """The two products of attention: 6 · B · A · pairs · D each."""

    def rule(entry: Entry, reading: Reading) -> tuple[Term, ...]:
        shape = entry.output.shape if entry.kind is Kind.SCORES else entry.inputs[0].shape
        width = entry.inputs[0].width if entry.kind is Kind.SCORES else entry.output.width
        batch, heads, queries, _ = shape
        return (Term(entry.path, (each, batch, heads, *pairs(entry, reading, queries), width)),)

    return dict.fromkeys(ATTENDING, rule)


def full(entry: Entry, reading: Reading, length: Expr) -> tuple[Expr, ...]:
    """Every query with every key, masked or not, and whatever the window."""
    return (length, length)


def half(entry: Entry, reading: Reading, length: Expr) -> tuple[Expr, ...]:
    """Half of all pairs, for a causal mask, whatever the window."""
    return (length, length / 2)


def by_role(who: str, rules: Mapping[Role, Counting]) -> Counting:
    """A linear layer, by what it is for. Raises RuleError for one whose role has no rule."""

    def rule(entry: Entry, reading: Reading) -> tuple[Term, ...]:
        role = reading.role(entry)
        if role not in rules:
            raise RuleError(f"{entry.path} is {_spoken(role)}, and what {who} counts of it is not stated")
        return rules[role](entry, reading)

    return rule


def _spoken(role: Role) -> str:
    return (
        "no matrix of attention, of an MLP or of a router that is recognised here" if role is Role.OTHER else role.value
    )
