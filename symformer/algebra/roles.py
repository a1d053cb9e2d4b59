"""The total of each role of a model's parts: embeddings, attention, state-space mixers, MLPs, norms, the head."""

from __future__ import annotations

from sympy import Expr, Integer, expand

from ..components.base import Component
from ..formulas.account import Line
from ..formulas.formula import Formula

ROLES = ("embeddings", "attention", "state-space mixer", "MLP", "norms", "head", "other")


def by_role(formula: Formula) -> dict[str, Expr]:
    """What each role of a model's parts comes to; their sum is the formula."""
    found: dict[str, Expr] = {}

    def walk(line: Line, count: Expr, role: str) -> None:
        count = count * line.count
        if isinstance(line.part, Component) and line.part.role in ROLES and (line.part.role != "other" or not role):
            role = line.part.role
        if line.entry is not None:
            role = role or "other"
            amount = expand((count * line.each).xreplace(formula.relations))
            found[role] = expand(found.get(role, Integer(0)) + amount)
        for below in line.lines:
            walk(below, count, role)

    walk(formula.root, Integer(1), "")
    return found


def gathers(formula: Formula) -> bool:
    """Whether a total stands in all of a formula for what it counts: L alone, and neither L_dense nor L_moe beside it.

    Where both stand in it one does not change without the other, and nothing is said of either alone.
    """
    sizes = formula.written.free_symbols
    return not any(formula.relations[total].free_symbols & sizes for total in formula.totals & sizes)
