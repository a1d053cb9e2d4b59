"""Two models side by side: role by role, their difference and their ratio, as formulas and as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sympy import Expr, Integer, cancel, expand, fraction

from ..account import Line
from ..architectures import architecture
from ..components.base import Component
from ..errors import OptionError
from ..formula import Formula, Leading
from ..model import Model
from ..notation.text import code
from ..notation.tree import Fraction, Tree, tree
from ..sizes import evaluate

ROLES = ("embeddings", "attention", "MLP", "norms", "head", "other")


@dataclass(frozen=True)
class Side:
    """One row of one model."""

    expr: Expr
    value: int | None

    def to_json(self) -> dict[str, Any]:
        """As the JSON carries it."""
        return {"formula": code(self.expr), "value": self.value}


@dataclass(frozen=True)
class Comparison:
    """Two models, one quantity."""

    left: Model
    right: Model
    formulas: tuple[Formula, Formula]
    rows: tuple[tuple[str, Side, Side], ...]  # by role; the last is the total

    @property
    def difference(self) -> Expr:
        """Left minus right."""
        return expand(self.formulas[0].expanded - self.formulas[1].expanded)

    @property
    def difference_leading(self) -> Expr:
        """The terms of the difference that grow fastest."""
        return Leading.of(self.difference).expr

    @property
    def ratio(self) -> Tree:
        """Left over right, without common factors."""
        return _quotient(self.formulas[0].expanded, self.formulas[1].expanded)

    @property
    def ratio_leading(self) -> Tree:
        """The leading terms of the left over those of the right."""
        return _quotient(self.formulas[0].leading().expr, self.formulas[1].leading().expr)

    def to_json(self) -> dict[str, Any]:
        """As ``compare --json`` prints it."""
        return {
            "left": self.left.target,
            "right": self.right.target,
            "quantity": self.formulas[0].measure.name,
            "unit": self.formulas[0].measure.unit,
            "rows": [
                {"part": role, "left": left.to_json(), "right": right.to_json()} for role, left, right in self.rows
            ],
            "difference": code(self.difference),
            "difference_leading": code(self.difference_leading),
            "ratio": code(self.ratio),
            "ratio_leading": code(self.ratio_leading),
        }


def compare(a: Model | str, b: Model | str, quantity: str = "params", **conventions: str) -> Comparison:
    """Compare two models over the same letters; each has its own numbers.

    >>> compare("bert-base-uncased", "gpt2").difference_leading
    -8*E**2*L + 2*E*H*L
    """
    left, right = (architecture(each) if isinstance(each, str) else each for each in (a, b))
    formulas = (left.formula(quantity, **conventions), right.formula(quantity, **conventions))
    if not formulas[0].additive:
        raise OptionError(f"{quantity} is a ratio, which does not add up over parts; compare its two sides")
    sides = [_by_role(formula) for formula in formulas]
    for side, formula in zip(sides, formulas, strict=True):
        side["total"] = formula.expanded
    rows = [
        (role, _side(sides[0].get(role, Integer(0)), left), _side(sides[1].get(role, Integer(0)), right))
        for role in (*ROLES, "total")
        if any(side.get(role, 0) != 0 for side in sides)
    ]
    return Comparison(left, right, formulas, tuple(rows))


def _by_role(formula: Formula) -> dict[str, Expr]:
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


def _side(expr: Expr, model: Model) -> Side:
    numbers = model.known
    return Side(expr, evaluate(expr, numbers, model.target) if expr.free_symbols <= numbers.keys() else None)


def _quotient(above: Expr, below: Expr) -> Tree:
    numerator, denominator = fraction(cancel(above / below))
    return tree(expand(numerator)) if denominator == 1 else Fraction(tree(expand(numerator)), tree(expand(denominator)))
