"""What a quantity hangs on: derivatives and elasticities, what one more costs, and how it grows in the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

from sympy import Add, Expr, Max, Min, Poly, Rational, Symbol, ceiling, diff, expand, floor, fraction, together

from ..architectures import composed
from ..formulas import ranks
from ..formulas.formula import Formula, lowest
from ..language.errors import SizeError, SymformerError
from ..language.frozen import FrozenDict, Immutable
from ..language.notation.cards import Card, Cell, Table
from ..language.notation.text import code, text
from ..language.notation.tree import Tree, tree
from ..language.sizes import Numbers, put_in
from ..language.symbols import letter, symbol
from ..language.target import AnyTarget
from ..models.model import Model
from ..output.picture import Picture
from .answer import Answer

LONG = 160  # characters of a formula that anyone would read
BUILT = ("layers", "heads", "experts")  # units of what one adds one more of


@dataclass(frozen=True)
class Change(Immutable):
    """How a formula changes with one size while the others stay."""

    size: Symbol
    formula: Expr
    numbers: Numbers

    @property
    def value(self) -> int | None:
        """The size's number."""
        return self.numbers.get(self.size)

    @cached_property
    def derivative(self) -> Expr | None:
        """The partial derivative; None where there is none: a whole part, a least and a most have corners."""
        if any(self.size in each.free_symbols for each in self.formula.atoms(floor, ceiling, Min, Max)):
            return None
        above, below = fraction(together(self.formula))
        if isinstance(below, Add) or any(isinstance(each, Add) for each in below.args):
            return lowest(expand(diff(above, self.size) * below - above * diff(below, self.size)), expand(below**2))
        return expand(diff(self.formula, self.size))

    @cached_property
    def elasticity(self) -> Expr | None:
        """By how many per cent the value grows as the size does by one: derivative times size over value."""
        if self.derivative is None or self.formula == 0:
            return None
        above, below = fraction(together(self.size * self.derivative / self.formula))
        return lowest(expand(above), expand(below))

    @cached_property
    def one_more(self) -> Expr:
        """What one more comes to: the value at the size and one, less the value at the size."""
        return expand(put_in(self.formula, {self.size: self.size + 1}) - self.formula)

    @cached_property
    def alone(self) -> Expr:
        """The value as a function of this size alone, the others at their numbers."""
        return expand(put_in(self.formula, {name: each for name, each in self.numbers.items() if name != self.size}))

    @cached_property
    def asymptote(self) -> Expr | None:
        """What the value comes near to as the size grows, the others at their numbers; None where that is not sure.

        >>> from symformer.language.symbols import C, E, L
        >>> Change(L, 3*L**2*E + L, {}).asymptote, Change(C, 2*Min(C, 4095) + 5, {}).asymptote
        (3*E*L**2, 8195)
        """
        smooth = _in_the_end(self.alone, self.size)
        if smooth is None:
            return None
        above, below = fraction(together(smooth))
        top, bottom = (_leading(expand(each), self.size) for each in (above, below))
        if top is None or bottom is None:
            return None
        return expand(top / bottom) if not isinstance(bottom, Add) else top / bottom

    def at(self, expr: Expr | None) -> Fraction | None:
        """An expression at the numbers, exactly; None where a size has none."""
        if expr is None or not expr.free_symbols <= self.numbers.keys():
            return None
        found = put_in(expr, self.numbers)
        return Fraction(int(found.p), int(found.q)) if isinstance(found, Rational) else None


def _in_the_end(expr: Expr, size: Symbol) -> Expr | None:
    """An expression as a size grows without end: whole parts become quotients, and one of several stays."""
    if size not in expr.free_symbols or expr.is_Symbol:
        return expr
    arguments = [_in_the_end(each, size) for each in expr.args]
    if any(each is None for each in arguments):
        return None
    if isinstance(expr, floor | ceiling):
        return arguments[0]
    if isinstance(expr, Min | Max):
        parts = [Poly(each, size) for each in arguments if each.is_polynomial(size)]  # type: ignore[union-attr]
        if len(parts) < len(arguments):
            return None
        most = max(each.degree() for each in parts)
        if isinstance(expr, Max):
            parts = [each for each in parts if each.degree() == most]
        else:
            least = min(each.degree() for each in parts)
            parts = [each for each in parts if each.degree() == least]
        if len(parts) == 1:
            return parts[0].as_expr()
        if most == min(each.degree() for each in parts) == 0:
            return expr.func(*(each.as_expr() for each in parts))
        leading = [each.LC() for each in parts]
        if not all(each.is_number for each in leading):
            return None
        chosen = (min if isinstance(expr, Min) else max)(leading)
        parts = [each for each in parts if each.LC() == chosen]
        return parts[0].as_expr() if len(parts) == 1 else None
    return expr.func(*arguments)


def _leading(expr: Expr, size: Symbol) -> Expr | None:
    """The terms of the highest power of a size."""
    if expr == 0:
        return expr
    if not expr.is_polynomial(size):
        return None
    exact = Poly(expr, size)
    return expand(exact.LC() * size ** exact.degree())


@dataclass(frozen=True, repr=False)
class Sensitivity(Answer):
    """How one quantity of one model changes with each of its sizes."""

    model: Model
    formula: Formula

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """One for each size, in the order of the alphabet."""
        known = {size: number for size, number in self.model.known.items() if size in self.formula.symbols}
        return tuple(Change(size, self.formula.expanded, known) for size in self.formula.symbols)

    def __getitem__(self, name: str) -> Change:
        """The change with one size. Raises SizeError for one that the formula does not have."""
        size = symbol(name)
        for each in self.changes:
            if each.size == size:
                return each
        have = ", ".join(str(each.size) for each in self.changes)
        raise SizeError(f"{self.formula.id} has no size {name} ({letter(size).meaning}) in it; it has {have}")

    @cached_property
    def value(self) -> Fraction | None:
        """The quantity at the numbers; None where a size has none."""
        with suppress(SymformerError):
            return Fraction(self.formula.value())
        return None

    @cached_property
    def broken(self) -> Mapping[Symbol, str]:
        """The sizes of which one more breaks a condition, with what it says."""
        known, found = self.model.known, {}
        for each in self.changes:
            if each.value is not None:
                try:
                    for condition in self.formula.constraints:
                        condition.check({**known, each.size: each.value + 1})
                except SizeError as error:
                    found[each.size] = str(error)
        return FrozenDict(found)

    def to_json(self) -> dict[str, Any]:
        """As ``sensitivity --json`` prints it; what is not whole is a string of two integers, "p/q"."""
        measure = self.formula.measure
        return {
            "target": self.model.target,
            "quantity": measure.name,
            "unit": measure.unit,
            "conventions": dict(self.formula.conventions),
            "formula": code(self.formula.written),
            **ranks.facts(self.formula.ranks, self.model.known),
            "value": _json(self.value),
            "sizes": [
                {
                    "size": str(each.size),
                    "meaning": letter(each.size).meaning,
                    "value": each.value,
                    "derivative": _code(each.derivative),
                    "derivative_value": _json(each.at(each.derivative)),
                    "elasticity": _code(each.elasticity),
                    "elasticity_value": _json(each.at(each.elasticity)),
                    "one_more": _code(each.one_more),
                    "one_more_value": _json(each.at(each.one_more)),
                    "one_more_breaks": self.broken.get(each.size),
                    "alone": _code(each.alone),
                    "asymptote": _code(each.asymptote),
                }
                for each in self.changes
            ],
        }

    @property
    def head(self) -> tuple[str, ...]:
        """The names of the columns."""
        return ("size", "is", "derivative", "elasticity", "one more", "", "in the end, alone")

    def rows(self, spell: Callable[[Tree | Expr], str] = text) -> list[list[str]]:
        """One row a size."""
        found = []
        for each in self.changes:
            cells = [_shown(each.derivative, spell), _near(each.at(each.elasticity), each.elasticity, spell)]
            cells += [_shown(each.one_more, spell), _number(each.at(each.one_more))]
            cells += [_shown(each.asymptote, spell)]
            found.append([str(each.size), "" if each.value is None else f"{each.value:,}", *cells])
        return found

    def lines(self, spell: Callable[[Tree | Expr], str] = text) -> list[str]:
        """What is said before the rows."""
        measure = self.formula.measure
        closed = f"{measure.letter} = {spell(self.formula.written)}"
        equals = "" if self.value is None else _number(self.value)
        found = [f"{closed}{'' if '≈' in equals or not equals else ' ='} {equals}".rstrip()]
        found += [f"where {size} = {text(value)}" for size, value in self.formula.relations.items()]
        found += [f"{name} = {choice}" for name, choice in self.formula.conventions.items()]
        return found + self.of_ranks(spell)

    def of_ranks(self, spell: Callable[[Expr], str] = text) -> list[str]:
        """Return the number of ranks that its numbers are of one of."""
        return ranks.stated(self.formula.ranks, self.model.known, spell)

    def below(self) -> list[str]:
        """What is said behind the rows: what one more layer, head or expert costs, and what it breaks."""
        found = []
        for each in self.changes:
            cost = each.at(each.one_more)
            if cost is None or letter(each.size).unit not in BUILT:
                continue
            share = f", {_digits(100 * cost / self.value)} % of the whole" if self.value else ""
            what = f"one more of the {letter(each.size).meaning} ({each.size})"
            found.append(f"{what}: {_number(cost)} {self.formula.measure.unit}{share}")
        return found + [f"one more {size} alone breaks a condition: {why}" for size, why in self.broken.items()]

    def table(self) -> dict[str, list[Any]]:
        """One row a size: formulas, and their numbers where all sizes have one."""
        each = self.changes
        return {
            "size": [one.size for one in each],
            "value": [one.value for one in each],
            "derivative": [one.derivative for one in each],
            "derivative value": [one.at(one.derivative) for one in each],
            "elasticity": [one.elasticity for one in each],
            "elasticity value": [one.at(one.elasticity) for one in each],
            "one more": [one.one_more for one in each],
            "one more value": [one.at(one.one_more) for one in each],
            "in the end, alone": [one.asymptote for one in each],
        }

    def plot(self, path: str | None = None, *, by: str = "") -> Picture:
        """The elasticities as bars; with a size, the quantity against it and what it comes near to."""
        return self._put(path, by)

    def _picture(self, by: str) -> Picture:
        from .pictures.sensed import drawn

        return drawn(self, by)

    def __repr__(self) -> str:
        return f"<{self.formula.id} by {', '.join(str(each.size) for each in self.changes)}>"

    @property
    def card(self) -> Card:
        """A row for each size."""
        cells: list[list[Cell]] = []
        for each in self.changes:
            formulas = [each.derivative, each.one_more, each.asymptote]
            shown: list[Cell] = ["" if one is None or len(code(one)) > LONG else tree(one) for one in formulas]
            numbers = _near(each.at(each.elasticity), None, text), _number(each.at(each.one_more))
            value = "" if each.value is None else f"{each.value:,}"
            cells.append([tree(each.size), value, shown[0], numbers[0], shown[1], numbers[1], shown[2]])
        title = f"{self.formula.measure.title} of {self.model.target} as each size changes"
        return Card(title, (), Table(self.head, cells, "lrlrlrl"), self.of_ranks())


def _code(expr: Expr | None) -> str | None:
    return None if expr is None else code(expr)


def _json(value: Fraction | None) -> int | str | None:
    return None if value is None else int(value) if value.denominator == 1 else str(value)


def _shown(expr: Expr | None, spell: Callable[[Tree | Expr], str]) -> str:
    if expr is None:
        return "none"
    return spelt if len(spelt := spell(expr)) <= LONG else "long; --json has it"


def _number(value: Fraction | None) -> str:
    return "" if value is None else f"{int(value):,}" if value.denominator == 1 else f"≈ {_digits(value)}"


def _digits(value: Fraction) -> str:
    return f"{Context(prec=4).divide(Decimal(value.numerator), Decimal(value.denominator)):f}"


def _near(value: Fraction | None, expr: Expr | None, spell: Callable[[Tree | Expr], str]) -> str:
    if value is not None:
        return _digits(value) if value.denominator != 1 else str(int(value))
    return "" if expr is None else _shown(expr, spell)


def sensitivity(target: Model | AnyTarget, quantity: str = "params", **conventions: str) -> Sensitivity:
    """How one quantity of a model changes with each of its sizes, as formulas and at the model's numbers.

    >>> found = sensitivity("llama-2-7b")["L"]
    >>> found.one_more, found.at(found.one_more)
    (2*A*D*E + 2*D*E*G + 3*E*H + 2*E, Fraction(202383360, 1))
    """
    model = composed(target)
    return Sensitivity(model, model.formula(quantity, **conventions))
