"""Crossovers while two totals stay tied: one size follows from all others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from sympy import Expr, Integer, Rational, Symbol, expand, fraction, together

from ..language.frozen import Immutable
from ..language.notation.text import code
from ..language.sizes import Numbers, substitute
from ..language.symbols import print_order
from .crossover import (
    AllowedValues,
    CrossoverPoint,
    EqualPoint,
    Span,
    constant_sign,
    equal_points,
    spans,
    without_common_factor,
    zero_of,
)
from .equal_totals import TotalTie


@dataclass(frozen=True)
class TiedCrossover(Immutable):
    """The difference of two models with tied totals, after substituting the formula of the tied size."""

    tie: TotalTie
    difference: Expr  # after substitution, a quotient of polynomials
    numbers: Numbers
    allowed: Mapping[Symbol, AllowedValues]

    @classmethod
    def of(
        cls, tie: TotalTie, difference: Expr, numbers: Numbers, allowed: Mapping[Symbol, AllowedValues]
    ) -> TiedCrossover | None:
        """Return the difference after substitution, or None if it contains a min or max."""
        found = tie.substitute(difference)
        return None if found is None else cls(tie, found, numbers, allowed)

    @cached_property
    def sizes(self) -> tuple[Symbol, ...]:
        """The sizes that may affect the sign: all sizes of the difference and of the tie, without the tied size."""
        return tuple(sorted(self.difference.free_symbols | self.tie.formula.free_symbols, key=print_order))

    @cached_property
    def common(self) -> Expr:
        """A polynomial with the same sign as the difference."""
        return without_common_factor(_signed(self.difference))

    def solution(self, size: Symbol) -> CrossoverPoint | None:
        """Return the value of a size at which the totals are equal as a formula, or None if there is none."""
        return zero_of(self.common, size)

    def crossing(self, size: Symbol) -> tuple[Span, ...]:
        """Return the ranges of one size in which each side is larger, holding the others fixed and the totals tied.

        Only integers with a positive tied size are included. Return () if another size has no number.
        """
        others = {name: number for name, number in self.numbers.items() if name not in (size, self.tie.size)}
        difference, tied = (
            without_common_factor(_signed(substitute(each, others))) for each in (self.difference, self.tie.formula)
        )
        if not difference.free_symbols | tied.free_symbols <= {size}:
            return ()
        where = [each for each in spans(tied, size) if each.sign > 0]
        found = [both for each in spans(difference, size) for one in where for both in _both(each, one)]
        return self.allowed.get(size, AllowedValues()).narrowed(sorted(found, key=lambda each: each.first))

    def equal_at(self, size: Symbol) -> tuple[EqualPoint, ...]:
        """Return the values of one size at which the totals are equal, holding the others fixed and the totals tied."""
        others = {name: number for name, number in self.numbers.items() if name not in (size, self.tie.size)}
        difference, tied = (together(substitute(each, others)) for each in (self.difference, self.tie.formula))
        found = equal_points(without_common_factor(expand(fraction(difference)[0])), size)
        return tuple(each for each in found if tied.xreplace({size: Rational(each.value)}).is_positive)

    def sign(self) -> int | None:
        """Return the sign of the difference for all sizes, or None if undecided."""
        return constant_sign(self.common)

    def to_json(self) -> dict[str, object]:
        """Return the crossovers as JSON data: integer ranges and formulas by size."""
        sides = (("left", 1), ("equal", 0), ("right", -1))
        crossings = {size: found for size in self.sizes if (found := self.crossing(size))}
        solutions = {size: each for size in self.sizes if (each := self.solution(size)) is not None}
        points = {str(size): [each.to_json() for each in self.equal_at(size)] for size in crossings}
        return {
            "crossover": {
                str(size): {
                    side: [[each.first, each.last] for each in found if each.sign == sign] for side, sign in sides
                }
                for size, found in crossings.items()
            },
            "equal_at": points,
            "crossover_formulas": {
                str(size): {"formula": code(each.shown), "above": "left" if each.above > 0 else "right"}
                for size, each in solutions.items()
            },
        }


def _signed(quotient: Expr) -> Expr:
    """Return a polynomial with the same sign as a quotient."""
    above, below = map(expand, fraction(together(quotient)))
    sign = constant_sign(below)
    return expand(above * (Integer(sign) if sign is not None else below))


def _both(one: Span, other: Span) -> Iterator[Span]:
    """Yield the intersection of two ranges, with the sign of the first."""
    ends = [each for each in (one.last, other.last) if each is not None]
    first, last = max(one.first, other.first), min(ends, default=None)
    if last is None or first <= last:
        yield Span(one.sign, first, last)
