"""Totals made equal: which value of one size of the second model makes it come to what the first does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sympy import Expr, Symbol, ceiling, expand, fraction, together
from sympy import floor as whole_part

from ..formulas.account import Measure
from ..formulas.formula import Formula
from ..language.errors import OptionError, SizeError
from ..language.notation.text import code, text
from ..language.notation.tree import Fraction as Quotient
from ..language.notation.tree import Tree
from ..language.sizes import put_in
from ..language.symbols import RANK, letter
from ..models.model import Model
from ..quantities import quantity as find_quantity
from .crossover import Allowed, always, balanced, coefficients
from .letters import named, own_letters
from .quotient import reduced

Beside = tuple[tuple[int, int | None], ...]
STEPS = 100_000  # whole numbers that are tried on each side


@dataclass(frozen=True)
class Tie:
    """What makes two totals equal: one size of the second model, as a formula, exactly, and as whole numbers."""

    measure: Measure  # of the totals
    size: Symbol  # as the comparison calls it
    formula: Expr
    exact: Fraction | None  # None where a size has no number
    beside: Beside  # whole numbers next to it, each with how much more the first model then has
    chosen: int | None  # the nearer of these, with which the comparison is made

    @property
    def shown(self) -> Tree:
        """The formula, what is added before what is taken away."""
        above, below = map(expand, fraction(together(self.formula)))
        return balanced(above) if below == 1 else Quotient(balanced(above), balanced(below))

    def put_into(self, above: Expr, below: Expr | None = None) -> Expr | None:
        """What an amount, or a quotient of two, is where the totals are equal; None for what has a min or a max."""
        parts = [above] if below is None else [above, below]
        if not all(each.is_rational_function(*each.free_symbols) for each in parts):
            return None
        put = [each.xreplace({self.size: self.formula}) for each in parts]
        first, *others = [fraction(reduced(*fraction(each.together()))) for each in put]
        if not others:
            return reduced(*first)
        (over, under), (up, down) = first, others[0]
        return None if up == 0 else reduced((over * down).expand(), (under * up).expand())

    def to_json(self) -> dict[str, Any]:
        """As the JSON carries it."""
        exact = self.exact
        return {
            "quantity": self.measure.name,
            "size": str(self.size),
            "formula": code(self.shown),
            "exact": None if exact is None else int(exact) if exact.denominator == 1 else str(exact),
            "whole": [{"value": number, "difference": more} for number, more in self.beside],
            "value": self.chosen,
        }


@dataclass(frozen=True)
class Tied:
    """The totals of two models, of which the second has one size free, and the number chosen for it."""

    first: Formula
    second: Formula
    by: Symbol
    exact: Fraction | None
    beside: Beside
    chosen: int | None

    @property
    def model(self) -> Model:
        """The second model with the number that was chosen; with the size free where there is none."""
        model = model_of(self.second)
        return model if self.chosen is None else model.set({self.by: self.chosen})

    def called(self, mine: Mapping[Symbol, Symbol], other: Mapping[Symbol, Symbol]) -> Tie:
        """The same by the names that a comparison has for the sizes of each. Raises SizeError for no solution."""
        size = other.get(self.by, self.by)
        first, second = self.first.expanded.xreplace(dict(mine)), self.second.expanded.xreplace(dict(other))
        each, rest = coefficients(second, size)
        found = reduced((first - rest).expand(), each)
        sign = always(fraction(found)[0])
        if self.exact is None and sign is not None and sign < 1:
            raise SizeError(_none(self.first, self.second, self.by, text(first), text(rest)))
        return Tie(self.first.measure, size, found, self.exact, self.beside, self.chosen)


def model_of(formula: Formula) -> Model:
    """The model that a formula is of. Raises OptionError for one of no model."""
    if not isinstance(formula.source, Model):
        raise OptionError(f"{formula.id} belongs to no model, so there is nothing to compare; ask a model for it")
    return formula.source


def again(formula: Formula, model: Model, quantity: str) -> Formula:
    """A quantity of a model and of the part that another formula is of, under the conventions that both know."""
    known = find_quantity(quantity).choices
    conventions = {name: choice for name, choice in formula.conventions.items() if name in known}
    found = model.formula(quantity, **conventions)
    return found.part(formula.root.key) if formula.within is not None else found


def tied(first: Formula, second: Formula, quantity: str, by: Symbol) -> Tied:
    """How large one size of the second has to be for one quantity of both to be the same.

    Raises SizeError where the second has no such size, where its total is not linear in it, and where none is right.
    """
    model = model_of(second)
    above = again(first, model_of(first), quantity)
    below = again(second, model, quantity)
    for each in (above, below):
        if not each.additive:
            raise OptionError(f"{quantity} is a ratio, which no size makes equal; tie its two sides")
    if by in model.settable and by not in below.totals:
        below = again(second, model.set({by: by}), quantity)
    target = model.target
    if by in below.totals:
        raise SizeError(f"{by} of {target} is {text(below.relations[by])}; name one of those by which it is to follow")
    if by not in below.symbols:
        has = ", ".join(str(each) for each in _linear(below))
        raise SizeError(
            f"{by}: {target} has no such size ({letter(by).meaning}) in {quantity}; "
            + (f"it is linear in {has}" if has else "it is linear in none")
            + (f"; {model_of(first).target} has it: put that after the other" * (by in above.symbols))
        )
    if by not in _linear(below):
        has = ", ".join(str(each) for each in _linear(below)) or "none"
        raise SizeError(f"{quantity} of {target} is not linear in {by}, so no quotient gives it; it is in {has}")
    return Tied(above, below, by, *_numbers(above, below, by))


def _linear(formula: Formula) -> list[Symbol]:
    """The sizes that a formula is linear in."""
    found = [each for each in formula.symbols if len(coefficients(formula.expanded, each)) == 2]
    return sorted(found, key=RANK.__getitem__)


def _numbers(first: Formula, second: Formula, by: Symbol) -> tuple[Fraction | None, Beside, int | None]:
    """What the size has to be, exactly; the whole numbers beside it with how much more the first has; the nearer."""
    known = [model_of(each).known for each in (first, second)]
    known[1].pop(by, None)
    mine, other = own_letters(known, [set(first.symbols), set(second.symbols)], {(1, by)})
    numbers = {**named(known[0], set(first.symbols), mine), **named(known[1], set(second.symbols), other)}
    size = other.get(by, by)
    total, below = put_in(first.expanded.xreplace(mine), numbers), put_in(second.expanded.xreplace(other), numbers)
    each, rest = coefficients(below, size)
    at = reduced(expand(total - rest), each)
    if not at.is_Rational:
        return None, (), None
    exact = Fraction(int(at.p), int(at.q))
    if exact <= 0:
        raise SizeError(_none(first, second, by, _grouped(total), _grouped(rest)))
    allowed = Allowed.of(by, second.constraints, known[1])
    near = [*_next(allowed, int(whole_part(exact)), -1), *_next(allowed, int(ceiling(exact)), 1)]
    if not near:
        raise SizeError(
            f"{by} of {model_of(second).target} would be {_spelt(exact)} for as many {first.measure.title}, and no "
            "whole number near it is allowed by the conditions between its sizes"
        )
    beside = []
    for number in dict.fromkeys(near):
        more = expand(total - put_in(below, {size: number}))
        beside.append((number, int(more) if more.is_Integer else None))
    return exact, tuple(beside), min(near, key=lambda number: abs(number - exact))


def _next(allowed: Allowed, start: int, step: int) -> list[int]:
    """The first whole number that is allowed, from one on."""
    for number in range(start, start + step * STEPS, step):
        if number < 1 or (allowed.high is not None and step > 0 and number > allowed.high):
            break
        if number in allowed:
            return [number]
    return []


def _grouped(amount: Expr) -> str:
    return f"{int(amount):,}" if amount.is_Integer else text(amount)


def _spelt(exact: Fraction) -> str:
    return f"{exact.numerator:,}" + f"/{exact.denominator:,}" * (exact.denominator != 1)


def _none(first: Formula, second: Formula, by: Symbol, total: str, rest: str) -> str:
    one, other = (model_of(each).target for each in (first, second))
    return (
        f"no {by} gives {other} as many {first.measure.title} as {one} has, {total}: without {by} there are {rest} "
        "already; put the larger one first, or make its other sizes smaller"
    )
