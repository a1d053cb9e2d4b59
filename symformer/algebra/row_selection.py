"""Selection of rows: the first rows by one column, or the Pareto front of several columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..language.errors import OptionError, quoted

MOST = 10**6  # maximum number of kept rows
KNEES = 8  # rows of a front with which every new row is compared first
COMPARED = 2 * 10**10  # comparisons for a front of three or more objectives: about a minute
STEPS = 13  # bits of the lookup table with which new rows are compared first, for two objectives

Columns = dict[str, Any]  # arrays by name, one entry per row


@dataclass(frozen=True)
class Objective:
    """A column, or an expression over quantities, to minimize or maximize."""

    name: str
    maximized: bool = False

    @classmethod
    def read(cls, argument: str) -> Objective:
        """Parse ``flops``, to minimize it, or ``max:params``, to maximize it. Raises OptionError.

        >>> Objective.read("flops"), Objective.read("max:params")
        (Objective(name='flops', maximized=False), Objective(name='params', maximized=True))
        """
        way, colon, name = argument.strip().partition(":")
        if "(" in way or not colon:  # a colon inside the arguments of a quantity
            way, colon, name = "", "", argument
        if (colon and way not in ("min", "max")) or not name.strip():
            raise OptionError(f"{quoted(argument)} is not an objective; write a column, such as flops or max:params")
        return cls(name.strip(), way == "max")

    def of(self, column: Any) -> Any:
        """Return the column with the sign that makes smaller values better."""
        return -column if self.maximized else column

    def __str__(self) -> str:
        return f"{'most' if self.maximized else 'least'} {self.name}"


class RowSelection(ABC):
    """A selection of rows that arrive in pieces. ``found`` has the rows selected so far, in order."""

    def __init__(self, objectives: Sequence[Objective]) -> None:
        self.objectives = tuple(objectives)
        self.found: Columns = {}
        self.points: list[Any] = []  # the objectives of the rows found, smaller is better

    def see(self, columns: Sequence[Any], rows: Callable[[Any], Columns], allowed: Any = None) -> None:
        """Add rows, given by the columns of the objectives; ``rows`` returns the complete rows at some indices."""
        import numpy

        points = [each.of(column) for each, column in zip(self.objectives, columns, strict=True)]
        mask = self._may(points)
        if allowed is not None:
            mask = allowed if mask is None else mask & allowed
        places = numpy.arange(len(points[0])) if mask is None else numpy.flatnonzero(mask)
        new = [each[places] for each in points]
        if self.points and len(places):
            left = self._left(new)
            new, places = [each[left] for each in new], places[left]
        if not len(places):
            return
        chosen = self._choose(new)
        new, places = [each[chosen] for each in new], places[chosen]
        if not self.found:
            self.found, self.points = rows(places), new
            return
        joined = [numpy.concatenate(pair) for pair in zip(self.points, new, strict=True)]
        chosen = self._choose(joined)
        more = rows(places)
        self.found = {name: numpy.concatenate([self.found[name], more[name]])[chosen] for name in more}
        self.points = [each[chosen] for each in joined]

    @abstractmethod
    def _may(self, points: Sequence[Any]) -> Any:
        """Return a mask of the rows that may be selected, or None for all."""

    def _left(self, points: Sequence[Any]) -> Any:
        """Return the mask or indices of the candidates that pass a closer comparison with the rows found."""
        return slice(None)

    @abstractmethod
    def _choose(self, points: Sequence[Any]) -> Any:
        """Return the indices of the rows to keep, in order."""


class TopRows(RowSelection):
    """The first rows by one objective. Among equal rows, earlier ones come first."""

    def __init__(self, objective: Objective, count: int) -> None:
        super().__init__([objective])
        if not 1 <= count <= MOST:
            raise OptionError(f"limit={count:,} is out of range; choose 1 to {MOST:,}")
        self.count = count

    def _may(self, points: Sequence[Any]) -> Any:
        full = self.points and len(self.points[0]) == self.count
        return points[0] < self.points[0][-1] if full else None

    def _choose(self, points: Sequence[Any]) -> Any:
        return points[0].argsort(kind="stable")[: self.count]


class ParetoFront(RowSelection):
    """The Pareto front: rows such that no other row is as good in every objective and better in one.

    Of equal rows, the first is kept. Two objectives need only a sort; with more, rows are compared one by one.
    """

    def __init__(self, objectives: Sequence[Objective]) -> None:
        super().__init__(objectives)
        self._table: tuple[Any, Any] | None = None
        self._compared = 0
        names = [each.name for each in objectives]
        if len(names) < 2 or len(set(names)) < len(names):
            raise OptionError(f"a Pareto front needs at least two different columns, not {', '.join(names)}")

    def _may(self, points: Sequence[Any]) -> Any:
        if not self.points:
            return None
        count = len(self.points[0])
        if count > MOST:
            raise OptionError(f"the front has more than {MOST:,} rows; remove an objective or sweep fewer rows")
        if len(points) == 2 and all(each.dtype != object for each in (*points, *self.points)):
            return points[1] < self._least(points[0])
        mask = None
        for place in sorted({count * knee // KNEES for knee in range(KNEES)}):
            beaten: Any = None
            for mine, other in zip(self.points, points, strict=True):
                behind = other >= mine[place]
                beaten = behind if beaten is None else beaten & behind
            mask = ~beaten if mask is None else mask & ~beaten
        return mask

    def _least(self, first: Any) -> Any:
        """Return, for values of the first objective, a limit below which the second one must stay.

        The limit comes from a table with equal steps. It is never below the exact one, so no row of the front is lost.
        """
        import numpy

        mine, other = self.points
        low, high = int(mine[0]), int(mine[-1])
        step = max(0, (high - low).bit_length() - STEPS)
        if self._table is None or self._table[0] is not mine:
            edges = low + (numpy.arange(((high - low) >> step) + 1) << step)
            least = other[mine.searchsorted(edges, side="right") - 1]
            beyond = numpy.array([numpy.iinfo(numpy.int64).max])
            self._table = mine, numpy.concatenate([beyond, least])
        table = self._table[1]
        place = numpy.minimum(numpy.maximum(first, low - 1), high) - low
        place >>= step
        place += 1
        return table[place]

    def _left(self, points: Sequence[Any]) -> Any:
        if len(points) > 2:
            return slice(None)
        # the last row found that is as good in the first objective
        before = self.points[0].searchsorted(points[0], side="right") - 1
        return (before < 0) | (points[1] < self.points[1][before]).astype(bool)

    def _choose(self, points: Sequence[Any]) -> Any:
        import numpy

        order = numpy.lexsort([*reversed(points)]) if points[0].dtype != object else _sorted(points)
        if len(points) == 2:
            second = points[1][order]
            least = numpy.minimum.accumulate(second)
            first = numpy.ones(len(second), bool)
            first[1:] = (second[1:] < least[:-1]).astype(bool)
            return order[first]
        kept: list[int] = []
        stacked = numpy.stack([each[order] for each in points])
        while stacked.shape[1]:
            kept.append(int(order[0]))
            self._compared += stacked.size
            if self._compared > COMPARED:
                raise OptionError(
                    f"a front of {len(points)} objectives with more than {len(kept):,} rows needs more than "
                    f"{COMPARED:,} comparisons; remove an objective or sweep fewer rows"
                )
            ahead = (stacked < stacked[:, :1]).any(axis=0)  # no remaining row beats the first in order
            stacked, order = stacked[:, ahead], order[ahead]
        return numpy.array(kept, int)


def _sorted(points: Sequence[Any]) -> Any:
    """Return the sorted order of rows of Python integers."""
    import numpy

    keys = list(zip(*(each.tolist() for each in points), strict=True))
    return numpy.array(sorted(range(len(keys)), key=keys.__getitem__), int)
