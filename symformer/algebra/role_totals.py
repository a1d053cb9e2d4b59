"""The total of each role of a model's parts: embeddings, attention, recurrent mixers, MLPs, norms, the head."""

from __future__ import annotations

from collections.abc import Iterator

from sympy import Expr, Integer, expand

from ..components.base import Component
from ..formulas.account import Line
from ..formulas.formula import Formula

RECURRENT = ("state-space mixer", "linear attention", "recurrent block")  # carry a state from token to token
ROLES = ("embeddings", "attention", *RECURRENT, "MLP", "norms", "head", "other")


def leaves_by_role(formula: Formula) -> Iterator[tuple[str, Expr, Line]]:
    """Yield the role, the number of copies and the line of every operation."""

    def walk(line: Line, count: Expr, role: str) -> Iterator[tuple[str, Expr, Line]]:
        count = count * line.count
        if isinstance(line.part, Component) and line.part.role in ROLES and (line.part.role != "other" or not role):
            role = line.part.role
        if line.entry is not None:
            role = role or "other"
            yield role, count, line
        for below in line.lines:
            yield from walk(below, count, role)

    yield from walk(formula.root, Integer(1), "")


def role_totals(formula: Formula) -> dict[str, Expr]:
    """Return the total of each role of a model's parts; the totals sum to the formula."""
    found: dict[str, Expr] = {}
    for role, count, line in leaves_by_role(formula):
        amount = expand((count * line.each).xreplace(formula.relations))
        found[role] = expand(found.get(role, Integer(0)) + amount)
    return found


def has_only_totals(formula: Formula) -> bool:
    """Return True if a formula contains only totals such as L, and not also their summands L_dense and L_moe.

    If it contains both, neither can change alone.
    """
    sizes = formula.display_expr.free_symbols
    return not any(formula.relations[total].free_symbols & sizes for total in formula.totals & sizes)
