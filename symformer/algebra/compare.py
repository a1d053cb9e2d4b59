"""Two models side by side: role by role, their difference and their ratio, as formulas and as numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

from sympy import Add, Expr, Integer, Symbol, cancel, expand, fraction

from ..architectures import composed
from ..components.base import Component
from ..formulas.account import Line
from ..formulas.formula import Formula, Leading, lowest
from ..language.errors import OptionError
from ..language.notation.cards import Card, Cell, Name, Shown, Table
from ..language.notation.text import code, text
from ..language.notation.tree import Fraction as Quotient
from ..language.notation.tree import Label, Minus, Sum, Tree, tree, value
from ..language.sizes import Numbers, evaluate
from ..language.symbols import RANK, letter, numbered
from ..models.model import Model
from .crossover import Allowed, Span, crossings

ROLES = ("embeddings", "attention", "MLP", "norms", "head", "other")
MAX_PAIRS = 20_000  # of terms, up to which common factors are looked for that are sums


@dataclass(frozen=True)
class Side:
    """One row of one model."""

    expr: Expr
    value: int | None

    def to_json(self) -> dict[str, Any]:
        """As the JSON carries it."""
        return {"formula": code(self.expr), "value": self.value}


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """Two models, one quantity.

    A letter that both use with different numbers is two sizes: ``E_1`` is the left one's, ``E_2`` the right one's.
    """

    left: Model
    right: Model
    formulas: tuple[Formula, Formula]
    rows: tuple[tuple[str, Side, Side], ...]  # by role; the last is the total
    sizes: tuple[Numbers, Numbers]  # what the symbols of each side's formulas stand for, where there is a number
    own: tuple[Mapping[Symbol, Symbol], Mapping[Symbol, Symbol]]  # each side's letters that are another size there

    @property
    def totals(self) -> tuple[Side, Side]:
        """The last row."""
        return self.rows[-1][1:]

    @cached_property
    def difference(self) -> Expr:
        """Left minus right."""
        left, right = self.totals
        return expand(left.expr - right.expr)

    @property
    def difference_leading(self) -> Expr:
        """The terms of the difference that grow fastest."""
        return Leading.of(self.difference).expr

    @property
    def difference_value(self) -> int | None:
        """The difference of the numbers; None where a size has none."""
        left, right = self.totals
        return None if left.value is None or right.value is None else left.value - right.value

    @cached_property
    def ratio(self) -> Tree | None:
        """Left over right, without common factors; None where the right one is 0 at every size."""
        left, right = self.totals
        return _quotient(left.expr, right.expr)

    @property
    def ratio_leading(self) -> Tree | None:
        """The leading terms of the left over those of the right."""
        left, right = self.totals
        return _quotient(Leading.of(left.expr).expr, Leading.of(right.expr).expr)

    @property
    def ratio_value(self) -> Fraction | None:
        """The ratio of the numbers, exactly; None where a size has none, or the right one is 0."""
        left, right = self.totals
        return None if left.value is None or not right.value else Fraction(left.value, right.value)

    @cached_property
    def crossings(self) -> Mapping[Symbol, tuple[Span, ...]]:
        """For each size alone, where which side has more while the others keep their numbers: among what the conditions
        of both formulas allow it to be.
        """
        allowed: dict[Symbol, Allowed] = {}
        for model, formula, own in zip((self.left, self.right), self.formulas, self.own, strict=True):
            for size in formula.symbols:
                name = own.get(size, size)
                found = Allowed.of(size, formula.constraints, model.known)
                allowed[name] = allowed.get(name, Allowed()) & found
        return crossings(self.difference, {**self.sizes[0], **self.sizes[1]}, allowed)

    @property
    def no_ratio(self) -> str:
        """Why there is no ratio; empty where there is one."""
        _, right = self.totals
        return "the second is 0" if right.expr == 0 or right.value == 0 else ""

    def lines(self, spell: Callable[[Tree | Expr], str] = text) -> list[str]:
        """What stands below the rows: whose sizes are whose, the difference and the ratio."""
        found = [f"{name} = {choice}" for name, choice in self.formulas[0].conventions.items()]
        for model, sizes in zip((self.left, self.right), self.sizes, strict=True):
            options = [f"{name} = {choice}" for name, choice in model.component.chosen.items()]
            if facts := options + [f"{size} = {number:,}" for size, number in sizes.items()]:
                found.append(f"{model.target} has " + ", ".join(facts))
        left, right = self.totals
        if loose := [size for size in left.expr.free_symbols & right.expr.free_symbols if self._loose(size)]:
            spelt = ", ".join(map(str, sorted(loose, key=RANK.__getitem__)))
            found.append(f"a letter with no number in one of them is taken for the same size in both: {spelt}")
        free = {*left.expr.free_symbols, *right.expr.free_symbols}.difference(*self.sizes)
        if lacking := [str(size) for size in sorted(free, key=RANK.__getitem__) if letter(size).run]:
            found.append(f"no number for {', '.join(lacking)}: give each with a --set of its own")
        found += [""] * bool(found)
        difference, ratio, leading = self.difference, self.ratio, self.ratio_leading
        whole = "" if self.difference_value is None or difference.is_number else f" = {self.difference_value:,}"
        found += [f"difference  {spell(difference)}{whole}", f"  leading   {spell(self.difference_leading)}"]
        if ratio is None or leading is None:
            return [*found, f"no ratio: {self.no_ratio}"]
        exact = "" if self.ratio_value is None or value(ratio).is_number else f" = {_spelt(self.ratio_value)}"
        found += [f"ratio       {spell(ratio)}{exact}", f"  leading   {spell(leading)}"]
        return found + [f"no ratio of the numbers: {self.no_ratio}"] * bool(self.no_ratio)

    def _loose(self, size: Symbol) -> bool:
        return (size in self.sizes[0]) != (size in self.sizes[1])

    def to_json(self) -> dict[str, Any]:
        """As ``compare --json`` prints it; a ratio that is not whole is a string of two integers, "p/q"."""
        ratio, leading, value = self.ratio, self.ratio_leading, self.ratio_value
        exact = int(value) if value is not None and value.denominator == 1 else value
        return {
            "left": self.left.target,
            "right": self.right.target,
            "quantity": self.formulas[0].measure.name,
            "unit": self.formulas[0].measure.unit,
            "conventions": dict(self.formulas[0].conventions),
            "options": {"left": self.left.component.chosen, "right": self.right.component.chosen},
            "sizes": {
                side: {str(size): number for size, number in sizes.items()}
                for side, sizes in zip(("left", "right"), self.sizes, strict=True)
            },
            "rows": [
                {"part": role, "left": left.to_json(), "right": right.to_json()} for role, left, right in self.rows
            ],
            "difference": code(self.difference),
            "difference_leading": code(self.difference_leading),
            "difference_value": self.difference_value,
            "ratio": None if ratio is None else code(ratio),
            "ratio_leading": None if leading is None else code(leading),
            "ratio_value": str(exact) if isinstance(exact, Fraction) else exact,
            "no_ratio": self.no_ratio or None,
            "crossover": {
                str(size): {
                    side: [[each.first, each.last] for each in spans if each.sign == sign]
                    for side, sign in (("left", 1), ("equal", 0), ("right", -1))
                }
                for size, spans in self.crossings.items()
            },
        }

    def __repr__(self) -> str:
        left, right = (code(side.expr) if side.value is None else f"{side.value:,}" for side in self.totals)
        return f"<{self.formulas[0].measure.name} of {self.left.target}, {left}, and of {self.right.target}, {right}>"

    @property
    def card(self) -> Card:
        """The rows side by side, the difference and the ratio."""
        names = (self.left.target, self.right.target)
        cells: list[list[Cell]] = []
        for role, *sides in self.rows:
            values = ["" if side.value is None else f"{side.value:,}" for side in sides]
            cells.append([role, *(tree(side.expr) for side in sides), *values])
        measure = self.formulas[0].measure
        sides_of = [Label(measure.letter, str(number), side.expr) for number, side in enumerate(self.totals, 1)]
        equations: list[tuple[Sequence[Tree], Sequence[Tree]]] = [
            ((Sum((sides_of[0], Minus(sides_of[1]))),), (tree(self.difference),))
        ]
        if self.ratio is not None:
            equations.append(((Quotient(*sides_of),), (self.ratio,)))
        table = Table(("part", *2 * [Name(name) for name in names]), cells, "lllrr", total=True)
        return Card(f"{measure.title} of {names[0]} (1) and of {names[1]} (2)", equations, table)


def compare(a: Model | str, b: Model | str, quantity: str = "params", **conventions: str) -> Comparison:
    """Compare two models, each with its own numbers: over the same letters where these are the same.

    Raises OptionError for a quantity that does not add up.

    >>> compare("bert-base-uncased", "gpt2").difference_leading
    -8*E**2*L + 2*E*H*L
    >>> compare("gpt2", "gpt2-xl").difference_leading
    12*E_1**2*L_1 - 12*E_2**2*L_2
    """
    models = [composed(each) if isinstance(each, str) else each for each in (a, b)]
    formulas = [model.formula(quantity, **conventions) for model in models]
    if not formulas[0].additive:
        raise OptionError(f"{quantity} is a ratio, which does not add up over parts; compare its two sides")
    # Which role a part has, its code does not say: beside a traced model there are only totals.
    told = not any(model.provenance.reading for model in models)
    parts = [{**(by_role(formula) if told else {}), "total": formula.expanded} for formula in formulas]
    used = [{size for expr in exprs.values() for size in expr.free_symbols} for exprs in parts]
    left, right = (model.known for model in models)
    both = [size for size in left if size in used[0] & used[1] & right.keys()]
    apart = [size for size in both if left[size] != right[size]]
    own: list[dict[Symbol, Symbol]] = [{size: numbered(size, number) for size in apart} for number in (1, 2)]
    sides = [_sides(*each) for each in zip(formulas, parts, (left, right), own, strict=True)]
    none = Side(Integer(0), 0)
    rows = [(role, sides[0].get(role, none), sides[1].get(role, none)) for role in (*ROLES, "total")]
    return Comparison(
        models[0],
        models[1],
        (formulas[0], formulas[1]),
        tuple(row for row in rows if row[0] == "total" or any(side.expr != 0 for side in row[1:])),
        (_named(left, used[0], own[0]), _named(right, used[1], own[1])),
        (own[0], own[1]),
    )


def _sides(
    formula: Formula, parts: Mapping[str, Expr], numbers: Numbers, own: Mapping[Symbol, Symbol]
) -> dict[str, Side]:
    if set(formula.symbols) <= numbers.keys():
        formula.value()  # holds them to every condition
    return {
        role: Side(
            expr.xreplace(own), evaluate(expr, numbers, formula.id) if expr.free_symbols <= numbers.keys() else None
        )
        for role, expr in parts.items()
    }


def _named(numbers: Numbers, used: set[Symbol], own: Mapping[Symbol, Symbol]) -> Numbers:
    return {own.get(size, size): number for size, number in numbers.items() if size in used}


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


def _spelt(ratio: Fraction) -> str:
    """A ratio exactly, and to four digits where it is not whole."""
    if ratio.denominator == 1:
        return f"{ratio.numerator:,}"
    near = Context(prec=4).divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    return f"{ratio.numerator:,}/{ratio.denominator:,} ≈ {near:f}"


def _quotient(above: Expr, below: Expr) -> Tree | None:
    if below == 0:
        return None
    pairs = len(Add.make_args(above)) * len(Add.make_args(below))
    numerator, denominator = fraction(cancel(above / below) if pairs <= MAX_PAIRS else lowest(above, below))
    return tree(expand(numerator)) if denominator == 1 else Quotient(tree(expand(numerator)), tree(expand(denominator)))
