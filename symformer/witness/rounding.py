"""Quotients of sizes that the code rounds down, such as the number of whole patches in an image."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from random import Random

from sympy import Add, Expr, Mul, Pow, Symbol, expand, floor

from ..catalogue.measured_model import MeasuredModel
from .interpolation import Point
from .row_samples import SEED
from .validation import Validation

ENOUGH = 3  # least number of points at which one size is not a multiple of the other

Quotient = tuple[Symbol, Symbol]  # above, below


def round_down(checking: Validation, found: MeasuredModel, checked: Iterable[Point]) -> MeasuredModel:
    """Return a formula with floors around the quotients that the code rounds down, so that no divisor is required."""
    exprs = {each for (_, shape), often in found.counts.items() for each in (*shape, *often)}
    for quotient in sorted({pair for each in exprs for pair in _quotients(each)}, key=str):
        counts = {
            (path, tuple(_whole_part(dim, quotient) for dim in shape)): tuple(_whole_part(n, quotient) for n in often)
            for (path, shape), often in found.counts.items()
        }
        tried = replace(found, counts=counts)
        if _holds(checking, tried, quotient, checked):
            found = tried
    return found


def _holds(checking: Validation, tried: MeasuredModel, quotient: Quotient, checked: Iterable[Point]) -> bool:
    """Return True if every row matches at points where one size is not a multiple of the other."""
    names = {letter: name for name, letter in checking.letters.items()}
    above, below = (names[letter] for letter in quotient)
    draw, held = Random(SEED), 0
    for point in checked:
        for _ in range(ENOUGH):
            if point[below] < 2:
                continue
            other = {**point, above: point[above] + draw.randrange(1, point[below])}
            if (rows := checking.samples.really(other)) is None:
                continue
            if not checking.agrees(tried, other, rows):
                return False
            held += 1
    return held >= ENOUGH


def _quotients(expr: Expr) -> Iterable[Quotient]:
    """Yield the pairs of sizes that occur with opposite powers in a product of a sum."""
    for term in Add.make_args(expand(expr)):
        powers = term.as_powers_dict()
        below = [each for each, power in powers.items() if isinstance(each, Symbol) and power.is_negative]
        for each in below:
            yield from ((other, each) for other in term.free_symbols if powers[other] == -powers[each])


def _whole_part(expr: Expr, quotient: Quotient) -> Expr:
    """Return an expression with a floor around each occurrence of a quotient in its products."""
    above, below = quotient
    terms = []
    for term in Add.make_args(expand(expr)):
        powers = term.as_powers_dict()
        often = powers[above] if powers[above] == -powers[below] else 0
        terms.append(Mul(term, Pow(below / above, often), Pow(floor(above / below), often)) if often else term)
    return Add(*terms) if any(each.has(floor) for each in terms) else expr
