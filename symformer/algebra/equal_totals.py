"""Ties: the value of one size of the second model that makes two totals equal."""

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
from ..language.notation.display_tree import FractionNode as Quotient
from ..language.notation.display_tree import Tree
from ..language.notation.text import code, exact_text, json_number, text
from ..language.sizes import substitute
from ..language.symbols import letter, print_order
from ..models.model import Model
from ..quantities import quantity as find_quantity
from .crossover import AllowedValues, coefficients, constant_sign, factored_difference
from .quotient_limits import lowest_terms
from .shared_letters import own_letters, renamed_numbers

NearestIntegers = tuple[tuple[int, int | None], ...]
STEPS = 100_000  # maximum number of integers tried in each direction


@dataclass(frozen=True)
class TotalTie:
    """The size of the second model that makes two totals equal: its formula, exact value and nearest integers."""

    measure: Measure  # the quantity of the totals
    size: Symbol  # the size, with its name in the comparison
    formula: Expr
    exact: Fraction | None  # None if a size has no number
    nearest: NearestIntegers  # the nearest allowed integers, each with the first total minus the second
    chosen: int | None  # the nearer of these integers, used in the comparison

    @property
    def shown(self) -> Tree:
        """The formula for display, positive terms first."""
        above, below = map(expand, fraction(together(self.formula)))
        return (
            factored_difference(above)
            if below == 1
            else Quotient(factored_difference(above), factored_difference(below))
        )

    def substitute(self, above: Expr, below: Expr | None = None) -> Expr | None:
        """Substitute the tie into an amount, or a quotient of two. Return None if it contains a min or max."""
        parts = [above] if below is None else [above, below]
        if not all(each.is_rational_function(*each.free_symbols) for each in parts):
            return None
        put = [each.xreplace({self.size: self.formula}) for each in parts]
        first, *others = [fraction(lowest_terms(*fraction(each.together()))) for each in put]
        if not others:
            return lowest_terms(*first)
        (over, under), (up, down) = first, others[0]
        return None if up == 0 else lowest_terms((over * down).expand(), (under * up).expand())

    def to_json(self) -> dict[str, Any]:
        """Return the tie as JSON data."""
        exact = self.exact
        return {
            "quantity": self.measure.name,
            "size": str(self.size),
            "formula": code(self.shown),
            "exact": json_number(exact),
            "whole": [{"value": number, "difference": more} for number, more in self.nearest],
            "value": self.chosen,
        }


@dataclass(frozen=True)
class TiedTotals:
    """The totals of two models, the adjusted size of the second, and the number chosen for it."""

    first: Formula
    second: Formula
    size: Symbol
    exact: Fraction | None
    nearest: NearestIntegers
    chosen: int | None

    @property
    def model(self) -> Model:
        """The second model with the chosen number, or unchanged if there is none."""
        model = model_of(self.second)
        return model if self.chosen is None else model.set({self.size: self.chosen})

    def called(self, mine: Mapping[Symbol, Symbol], other: Mapping[Symbol, Symbol]) -> TotalTie:
        """Return the tie with a comparison's names for the sizes. Raises SizeError if there is no solution."""
        size = other.get(self.size, self.size)
        first, second = self.first.expanded.xreplace(dict(mine)), self.second.expanded.xreplace(dict(other))
        each, rest = coefficients(second, size)
        found = lowest_terms((first - rest).expand(), each)
        sign = constant_sign(fraction(found)[0])
        if self.exact is None and sign is not None and sign < 1:
            raise SizeError(_none(self.first, self.second, self.size, text(first), text(rest)))
        return TotalTie(self.first.measure, size, found, self.exact, self.nearest, self.chosen)


def model_of(formula: Formula) -> Model:
    """Return the model of a formula. Raises OptionError if it has none."""
    if not isinstance(formula.source, Model):
        raise OptionError(f"{formula.id} does not belong to a model; take the formula from a model")
    return formula.source


def same_quantity_of(formula: Formula, model: Model, quantity: str) -> Formula:
    """Return a quantity of a model for the part and the applicable conventions of another formula."""
    known = find_quantity(quantity).choices
    conventions = {name: choice for name, choice in formula.conventions.items() if name in known}
    found = model.formula(quantity, **conventions)
    return found.part(formula.root.key) if formula.whole_account is not None else found


def tied_totals(first: Formula, second: Formula, quantity: str, by: Symbol) -> TiedTotals:
    """Find the value of one size of the second model that makes a quantity of both models equal.

    Raises SizeError if the second model does not have the size, if its total is not linear in it, or if there is no
    solution.
    """
    model = model_of(second)
    above = same_quantity_of(first, model_of(first), quantity)
    below = same_quantity_of(second, model, quantity)
    for each in (above, below):
        if not each.additive:
            raise OptionError(
                f"{quantity} is a {each.form} and cannot be made equal; use {each.sides.replace(' and ', ' or ')}"
            )
    if by in model.settable and by not in below.totals:
        below = same_quantity_of(second, model.set({by: by}), quantity)
    target = model.target
    if by in below.totals:
        raise SizeError(f"{by} of {target} is {text(below.relations[by])}; adjust one of those sizes instead")
    if by not in below.symbols:
        has = ", ".join(str(each) for each in _linear(below))
        raise SizeError(
            f"{by} ({letter(by).meaning}) does not affect {quantity} of {target}; "
            + (f"it is linear in {has}" if has else "it is not linear in any size")
            + (f"; {model_of(first).target} depends on it: list that model second" * (by in above.symbols))
        )
    if by not in _linear(below):
        has = ", ".join(str(each) for each in _linear(below)) or "none"
        raise SizeError(f"{quantity} of {target} is not linear in {by}; choose a size in which it is linear: {has}")
    return TiedTotals(above, below, by, *_numbers(above, below, by))


def _linear(formula: Formula) -> list[Symbol]:
    """Return the sizes in which a formula is linear."""
    found = [each for each in formula.symbols if len(coefficients(formula.expanded, each)) == 2]
    return sorted(found, key=print_order)


def _numbers(first: Formula, second: Formula, by: Symbol) -> tuple[Fraction | None, NearestIntegers, int | None]:
    """Return the exact value of the size, the nearest allowed integers with their differences, and the nearer one."""
    theirs = {size: number for size, number in model_of(second).known.items() if size != by}
    known = [model_of(first).known, theirs]
    mine, other = own_letters(known, [set(first.symbols), set(second.symbols)], {(1, by)})
    numbers = {
        **renamed_numbers(known[0], set(first.symbols), mine),
        **renamed_numbers(known[1], set(second.symbols), other),
    }
    size = other.get(by, by)
    total, below = (
        substitute(first.expanded.xreplace(mine), numbers),
        substitute(second.expanded.xreplace(other), numbers),
    )
    each, rest = coefficients(below, size)
    at = lowest_terms(expand(total - rest), each)
    if not at.is_Rational:
        return None, (), None
    exact = Fraction(int(at.p), int(at.q))
    if exact <= 0:
        raise SizeError(_none(first, second, by, _grouped(total), _grouped(rest)))
    allowed = AllowedValues.of(by, second.constraints, known[1])
    near = [*_next(allowed, int(whole_part(exact)), -1), *_next(allowed, int(ceiling(exact)), 1)]
    if not near:
        raise SizeError(
            f"{by} of {model_of(second).target} would have to be {exact_text(exact)} for equal "
            f"{first.measure.title}, and the conditions between its sizes allow no integer near it"
        )
    beside = []
    for number in dict.fromkeys(near):
        more = expand(total - substitute(below, {size: number}))
        beside.append((number, int(more) if more.is_Integer else None))
    return exact, tuple(beside), min(near, key=lambda number: abs(number - exact))


def _next(allowed: AllowedValues, start: int, step: int) -> list[int]:
    """Return the first allowed integer from a start in one direction, as a list, or [] if there is none."""
    for number in range(start, start + step * STEPS, step):
        if number < 1 or (allowed.high is not None and step > 0 and number > allowed.high):
            break
        if number in allowed:
            return [number]
    return []


def _grouped(amount: Expr) -> str:
    return f"{int(amount):,}" if amount.is_Integer else text(amount)


def _none(first: Formula, second: Formula, by: Symbol, total: str, rest: str) -> str:
    one, other = (model_of(each).target for each in (first, second))
    return (
        f"no {by} gives {other} the {first.measure.title} of {one}, {total}: without {by}, {other} already has {rest}; "
        "list the larger model first, or reduce the other sizes of the second"
    )
