"""Three or more models in one table: their totals relative to each other, and their order as one size varies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

from sympy import Expr, Symbol

from ..language.frozen import Immutable
from ..language.notation.text import json_number
from ..language.sizes import substitute
from ..language.symbols import print_order
from .crossover import Span, spans, without_common_factor

if TYPE_CHECKING:
    from .model_comparison import Comparison

MOST = 60  # ranges of one size


@dataclass(frozen=True)
class RankedRange:
    """A range of one size in which the totals have one order; ``last`` is None if the range is unbounded.

    Parameters
    ----------
    first, last
        The range.
    ranking
        The places of the models from 0, the largest total first; equal totals share an entry.

    """

    first: int
    last: int | None
    ranking: tuple[tuple[int, ...], ...]

    def to_json(self) -> dict[str, Any]:
        """Return the range as JSON data, with places from 1."""
        return {
            "first": self.first,
            "last": self.last,
            "largest_first": [[place + 1 for place in each] for each in self.ranking],
        }


@dataclass(frozen=True)
class JointComparison(Immutable):
    """All totals of a comparison next to each other."""

    comparison: Comparison

    @cached_property
    def ratios(self) -> tuple[tuple[Fraction | None, ...], ...]:
        """The total of each model (rows) divided by the total of each model (columns); None without values or by 0."""
        values = [side.value for side in self.comparison.totals]
        return tuple(
            tuple(Fraction(one, other) if one is not None and other else None for other in values) for one in values
        )

    @cached_property
    def rankings(self) -> Mapping[Symbol, tuple[RankedRange, ...]]:
        """For each size, the ranges of its allowed values in which the order of all totals is constant.

        A size is omitted if another size without a number may affect the order.
        """
        totals = [side.expr for side in self.comparison.totals]
        sizes = sorted(set().union(*(each.free_symbols for each in totals)), key=print_order)
        return {size: found for size in sizes if (found := self._ranges(totals, size))}

    def _ranges(self, totals: list[Expr], size: Symbol) -> tuple[RankedRange, ...]:
        others = {name: number for name, number in self.comparison.numbers.items() if name != size}
        signs: dict[tuple[int, int], tuple[Span, ...]] = {}
        for one, other in combinations(range(len(totals)), 2):
            difference = without_common_factor(totals[one] - totals[other])
            alone = without_common_factor(substitute(difference, others))
            found = spans(alone, size) if alone.free_symbols <= {size} else ()
            if not found:
                return ()
            signs[one, other] = found
        starts = sorted({each.first for several in signs.values() for each in several})
        if len(starts) > MOST:
            return ()
        allowed = self.comparison.allowed_values(size)
        joined: list[RankedRange] = []
        for first, after in zip(starts, [*starts[1:], None], strict=True):
            last = None if after is None else after - 1
            for span in allowed.narrowed([Span(0, first, last)]):
                ranking = _ranking(len(totals), {pair: _sign(each, first) for pair, each in signs.items()})
                same = joined and joined[-1].ranking == ranking
                joined.append(RankedRange(joined.pop().first if same else span.first, span.last, ranking))
        return tuple(joined)

    def to_json(self) -> dict[str, Any]:
        """Return the ratios and the rankings as JSON data; a ratio that is not an integer is a string "p/q"."""
        return {
            "ratios": [[json_number(each) for each in row] for row in self.ratios],
            "rankings": {str(size): [each.to_json() for each in found] for size, found in self.rankings.items()},
        }


def _sign(found: tuple[Span, ...], number: int) -> int:
    return next(each.sign for each in reversed(found) if each.first <= number)


def _ranking(models: int, signs: Mapping[tuple[int, int], int]) -> tuple[tuple[int, ...], ...]:
    """Return the places in descending order of their totals: by the number of smaller totals."""
    smaller = [0] * models
    for (one, other), sign in signs.items():
        if sign:
            smaller[one if sign > 0 else other] += 1
    return tuple(
        tuple(place for place in range(models) if smaller[place] == each) for each in sorted({*smaller}, reverse=True)
    )
