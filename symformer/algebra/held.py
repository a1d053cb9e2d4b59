"""Where a difference changes its sign while two totals stay the same: one size follows all others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from sympy import Expr, Integer, Symbol, expand, fraction, together

from ..language.frozen import Immutable
from ..language.notation.text import code
from ..language.sizes import Numbers, put_in
from ..language.symbols import RANK
from .crossover import Allowed, Solution, Span, always, over_common, solved, spans
from .tie import Tie


@dataclass(frozen=True)
class Held(Immutable):
    """A difference of two models whose totals are tied, the size of the tie put in as its formula."""

    tie: Tie
    difference: Expr  # with the tie put in: a polynomial over another
    numbers: Numbers
    allowed: Mapping[Symbol, Allowed]

    @classmethod
    def of(cls, tie: Tie, difference: Expr, numbers: Numbers, allowed: Mapping[Symbol, Allowed]) -> Held | None:
        """None for a difference that has a least or a most in it, in which nothing is put."""
        found = tie.put_into(difference)
        return None if found is None else cls(tie, found, numbers, allowed)

    @cached_property
    def sizes(self) -> tuple[Symbol, ...]:
        """The sizes that may decide: those of the difference and those of the tie, without the size that it chooses."""
        return tuple(sorted(self.difference.free_symbols | self.tie.formula.free_symbols, key=RANK.__getitem__))

    @cached_property
    def common(self) -> Expr:
        """A polynomial of the sign of the difference."""
        return over_common(_signed(self.difference))

    def solution(self, size: Symbol) -> Solution | None:
        """At which value of a size both come to the same, in the others; None where no one formula says so."""
        return solved(self.common, size)

    def crossing(self, size: Symbol) -> tuple[Span, ...]:
        """Where which side has more as one size changes, the others keep their numbers and the totals stay tied: at the
        whole numbers at which a size of the tie that is more than 0 makes them so. Nothing where a number is lacking.
        """
        others = {name: number for name, number in self.numbers.items() if name not in (size, self.tie.size)}
        difference, tied = (over_common(_signed(put_in(each, others))) for each in (self.difference, self.tie.formula))
        if not difference.free_symbols | tied.free_symbols <= {size}:
            return ()
        where = [each for each in spans(tied, size) if each.sign > 0]
        found = [both for each in spans(difference, size) for one in where for both in _both(each, one)]
        return self.allowed.get(size, Allowed()).narrowed(sorted(found, key=lambda each: each.first))

    def sign(self) -> int | None:
        """The sign of the difference at all sizes; None where that is not certain."""
        return always(self.common)

    def to_json(self) -> dict[str, object]:
        """As the JSON carries it: by size the whole numbers, and the formulas."""
        sides = (("left", 1), ("equal", 0), ("right", -1))
        crossings = {size: found for size in self.sizes if (found := self.crossing(size))}
        solutions = {size: each for size in self.sizes if (each := self.solution(size)) is not None}
        return {
            "crossover": {
                str(size): {
                    side: [[each.first, each.last] for each in found if each.sign == sign] for side, sign in sides
                }
                for size, found in crossings.items()
            },
            "crossover_formulas": {
                str(size): {"formula": code(each.shown), "above": "left" if each.above > 0 else "right"}
                for size, each in solutions.items()
            },
        }


def _signed(quotient: Expr) -> Expr:
    """A polynomial that has the sign of a quotient."""
    above, below = map(expand, fraction(together(quotient)))
    sign = always(below)
    return expand(above * (Integer(sign) if sign is not None else below))


def _both(one: Span, other: Span) -> Iterator[Span]:
    """The whole numbers of the one that are in the other too."""
    ends = [each for each in (one.last, other.last) if each is not None]
    first, last = max(one.first, other.first), min(ends, default=None)
    if last is None or first <= last:
        yield Span(one.sign, first, last)
