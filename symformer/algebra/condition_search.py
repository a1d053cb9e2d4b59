"""Search for sizes under several conditions: bounds on boxes first, then exact tests of what remains.

All conditions bound the sizes together, and boxes in which a condition cannot hold are discarded. One size follows from
the others as far as its conditions are linear or monotonic in it. What remains is tested with exact integers.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import count as counter
from typing import Any

from sympy import Expr, Symbol

from ..formulas.arrays import WIDE
from ..formulas.compiler import program, tested
from ..formulas.program import Polynomial, Program, ProgramCondition, Test
from ..formulas.program import RationalFunction as Quotient
from ..language.arithmetic import MAX_INTEGER
from ..language.errors import SizeError
from .box import SizeBox, definitions_of, names_of, separate_conditions
from .condition_bounds import BoundedTest, Box, ConditionBounds, SizeSpan
from .free_sizes import FreeSizes
from .grid import Axis, Grid
from .numpy_import import array_namespace, has_numpy
from .result import Told, ignore_progress
from .row_program import RowProgram, compile_for_rows
from .search_boxes import OpenSize, SearchLimitError

Columns = dict[str, Any]
FoundPoint = tuple[dict[str, int], Fraction, Fraction | None]  # the sizes, the value and the target

BOXES = 600  # boxes that are divided before anything is tested
DIVIDED = 20_000  # combinations of a box that is not divided
ROWS, EXACT_ROWS = 10**8, 4 * 10**6  # combinations that are tested: with 64-bit integers, and with larger ones
PIECE = 2**17  # combinations that are tested at once
PLAIN_ROWS = 10**5  # combinations that are tested without NumPy
NEAR = 200_000  # solutions among which the nearest one is searched
NEAREST_ROWS = 2 * 10**7  # combinations that are tested for the nearest solution
HALVED = 50  # how often the distance to the target is halved
SMALLEST, LARGEST, FACTOR = -40, 140, 5  # the powers of two of the distances to the target
ABOVE, BELOW = (Symbol(name, positive=True) for name in ("distance_above", "distance_below"))


@dataclass(frozen=True)
class SearchedValue:
    """The value that a search is about, its target, and how far from it a value may be.

    Attributes
    ----------
    expr
        The value, over the unknown sizes.
    target
        The target, or None if only conditions decide.
    margin
        The tolerance around the target, or None for an upper limit, under which the first size is maximized.

    """

    expr: Expr
    target: Expr | None = None
    margin: Expr | None = None

    @property
    def maximized(self) -> bool:
        """Whether the first size is maximized."""
        return self.target is not None and self.margin is None

    @property
    def programs(self) -> list[Program]:
        """The tests that the value is as wanted."""
        if self.target is None:
            return []
        if self.margin is None:
            return [tested("the value is within the limit", "at most", self.expr, self.target)]
        return self.between(self.margin)

    def between(self, margin: Expr) -> list[Program]:
        """Return the tests that the value is within some distance of the target."""
        assert self.target is not None  # noqa: S101
        return [
            tested("the value is not too large", "at most", self.expr, self.target + margin),
            tested("the value is not too small", "at most", self.target - margin, self.expr),
        ]


@dataclass(frozen=True)
class ConditionSearch:
    """All values of some sizes that satisfy conditions.

    Attributes
    ----------
    sizes
        The unknown sizes.
    value
        The value that is searched for.
    conditions
        Programs with further conditions on the unknown sizes, in which every other size is a number.
    free
        The sizes that conditions determine in each row.
    given
        The sizes with numbers.
    what
        The name of the value, for messages.

    """

    sizes: tuple[OpenSize, ...]
    value: SearchedValue
    conditions: tuple[Program, ...]
    free: FreeSizes
    given: Mapping[str, int]
    what: str
    progress: Told = field(default=ignore_progress, compare=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the unknown sizes."""
        return tuple(each.name for each in self.sizes)

    def solutions(self, most: int) -> list[FoundPoint]:
        """Return the sizes of every solution with its value and its target.

        Raises SearchLimitError if too many combinations would have to be tested, or SizeError for more than ``most``.
        """
        search = _Pass(self, self._ready(self.value.programs), self.value.maximized)
        found: list[FoundPoint] = []
        for columns, number in search.found():
            found += self.points(columns, number)
            if len(found) > most:
                raise SizeError(f"there are more than {most:,} solutions; choose a smaller --tolerance, or give ranges")
        if not self.value.maximized:
            return found
        best: dict[tuple[int, ...], FoundPoint] = {}  # several boxes can have the same values of the other sizes
        first, *others = self.names
        for each in found:
            key = tuple(each[0][name] for name in others)
            if key not in best or best[key][0][first] < each[0][first]:
                best[key] = each
        return list(best.values())

    def nearest(self) -> FoundPoint | None:
        """Return the sizes whose value is nearest to the target, or None if the search finds none.

        The distance grows until sizes are found, so that all sizes within it are known.
        """
        if self.value.target is None:
            return None
        tests = self.value.between(ABOVE / BELOW)
        room = [NEAREST_ROWS if has_numpy() else PLAIN_ROWS]

        def within(distance: Fraction) -> tuple[list[FoundPoint], bool]:
            """Return the solutions within a distance, and whether they are all."""
            at = {str(ABOVE): distance.numerator, str(BELOW): distance.denominator}
            search = _Pass(self, self._ready([each.at(at) for each in tests]), False, room)
            found: list[FoundPoint] = []
            try:
                for columns, number in search.found():
                    found += self.points(columns, number)
                    if len(found) > NEAR:
                        return found, False
            except SizeError:  # too many, or without an upper bound
                return found, False
            return found, True

        low, above = Fraction(0), Fraction(0)
        best: FoundPoint | None = None
        for power in range(SMALLEST, LARGEST, FACTOR):
            high = Fraction(2) ** power
            found, whole = within(high)
            if found or not whole:
                break
            low = high
        else:
            return None
        for _ in range(HALVED):
            best = min([*([best] if best else []), *found], key=_distance, default=None)
            if whole and found:
                return best  # all solutions within the distance are known
            if room[0] <= 0:
                return None
            if not found and whole:
                low = high
            else:
                above = high
            high = (low + above) / 2 if best is None else min((low + above) / 2, _distance(best))
            found, whole = within(high)
        return None

    def points(self, columns: Columns, count: int) -> Iterator[FoundPoint]:
        """Yield the sizes of each row with its value and its target."""
        if not count:
            return
        every = {**columns, **self.free.rows(columns, count)[0]}
        names = (*self.names, *self.free.names)
        values = self._exact(self._value, columns, count)
        targets = [None] * count if self._target is None else self._exact(self._target, columns, count)
        rows = zip(*(every[name].tolist() for name in names), strict=True)
        for sizes, value, target in zip(rows, values, targets, strict=True):
            yield dict(zip(names, sizes, strict=True)), value, target

    def _ready(self, tests: Sequence[Program]) -> list[Program]:
        """Return all conditions on the unknown sizes alone."""
        names = frozenset(self.names)
        found = [each.at(self.given) for each in tests]
        return [each.concerned(names) for each in (*found, *self.conditions)]

    @cached_property
    def _value(self) -> Program:
        return program(self.value.expr, whole=False).at(self.given)

    @cached_property
    def _target(self) -> Program | None:
        return None if self.value.target is None else program(self.value.target, whole=False).at(self.given)

    def _exact(self, made: Program, columns: Columns, count: int) -> list[Fraction]:
        """Return the exact values of a program."""
        xp = array_namespace()
        sides = []
        for polynomial in (made.value.above, made.value.denominator):
            needed = Program(Quotient(polynomial), definitions_of(made, polynomial.names))
            own = {name: columns[name] for name in needed.sizes_of(polynomial.names)}
            sides.append(xp.broadcast_to(xp.asarray(compile_for_rows(needed, own).run(own)[0]), (count,)).tolist())
        return [Fraction(above, below or 1) for above, below in zip(*sides, strict=True)]


def _distance(found: FoundPoint) -> Fraction:
    return abs(found[1] - (found[2] or 0))


class _Pass:
    """One search: the programs of all conditions, and the size that follows from the others."""

    def __init__(
        self, search: ConditionSearch, programs: Sequence[Program], maximized: bool, room: list[int] | None = None
    ) -> None:
        self.search, self.maximized = search, maximized
        self.programs = [each for each in programs if each.conditions]
        self.bounds = ConditionBounds(self.programs)
        self.parts: dict[Program, frozenset[str]] = {}
        for each in self.programs:
            self.parts |= separate_conditions(each)
        self.room = room

    def found(self) -> Iterator[tuple[Columns, int]]:
        """Yield columns of sizes that satisfy all conditions, and their number of rows. Raises SizeError."""
        every = {each.name: SizeSpan.all(each.all) for each in self.search.sizes}
        root = self.bounds.narrowed(every)
        if root is None:
            return
        for each in self.search.sizes:
            if each.values is None and root[each.name].range[1] >= MAX_INTEGER:
                raise SizeError(
                    f"{each.name} has no upper bound under these conditions; give it a range, as in --find "
                    f"{each.name}=1:4096:1"
                )
        last = self._last(root)
        others = [name for name in root if name != last]
        dividing = others if self._determines(last) else list(root)
        boxes = self._boxes(root, dividing)
        total = sum(math.prod(box[name].count for name in dividing) for box in boxes)
        self._check(total, dividing, root)
        done = 0
        for columns, first, final, number in self._pieces(boxes, others, last):
            yield from self._of_piece(columns, root[last], first, final, number, last)
            done += number
            self.search.progress(done, total)

    def _last(self, root: Box) -> str:
        """Return the size that follows from the others: the first one if it is maximized."""
        names = list(root)
        if self.maximized:
            return names[0]
        tests = [group[0] for group in self.bounds.groups if len(group) == 1 and group[0].test.how != "divides"]

        def score(name: str) -> tuple[int, int, int]:
            own = [each for each in tests if name in each.sizes]
            bad = sum(1 for each in own if not each.direction(name))
            return (not bad, root[name].count, -names.index(name))

        return max(names, key=score)

    def _determines(self, last: str) -> bool:
        """Return whether all conditions are monotonic in a size, so that they bound it in every row."""
        tests = [each for group in self.bounds.tests_of(last) for each in group if len(group) == 1]
        return all(each.direction(last) for each in tests if each.test.how in ("at most", "is"))

    def _boxes(self, root: Box, others: Sequence[str]) -> list[Box]:
        """Return boxes that together contain every solution: the largest ones are divided and narrowed first."""
        number = counter()

        def volume(box: Box) -> int:
            return math.prod(box[name].count for name in others)

        heap = [(-volume(root), next(number), dict(root))]
        done: list[Box] = []
        for _ in range(BOXES):
            if not heap:
                break
            negative, _, box = heapq.heappop(heap)
            wide = [name for name in others if box[name].count > 1]
            if -negative <= DIVIDED or not wide:
                done.append(box)
                continue
            name = max(wide, key=lambda each: (Fraction(box[each].range[1], box[each].range[0]), box[each].count))
            for half in _halves(box[name]):
                part = self.bounds.narrowed({**box, name: half}, rounds=2)
                if part is not None:
                    heapq.heappush(heap, (-volume(part), next(number), part))
        return [*done, *(box for _, _, box in heap)]

    def _check(self, total: int, others: Sequence[str], root: Box) -> None:
        """Raise SearchLimitError if the boxes have too many combinations."""
        most = PLAIN_ROWS
        if has_numpy():
            ranges = {name: span.range for name, span in root.items()}
            shapes = dict.fromkeys(ranges, (1,))
            wide = any(RowProgram(each, shapes, ranges).peak >= WIDE for each in self.programs)
            most = EXACT_ROWS if wide else ROWS
        if self.room is not None:
            self.room[0] -= total + 10_000
            most = min(most, self.room[0])
        if total > most:
            raise SearchLimitError(
                f"the sizes {', '.join(others)} have {total:,} combinations that the conditions do not exclude, more "
                f"than the limit of {most:,}; give ranges, as in --find {others[-1]}=64:16384:64, or solve for fewer "
                "sizes"
            )

    def _pieces(
        self, boxes: Sequence[Box], others: Sequence[str], last: str
    ) -> Iterator[tuple[Columns, Any, Any, int]]:
        """Yield columns of the other sizes, with the first and last index of the size that follows from them."""
        xp = array_namespace()
        waiting: list[tuple[Columns, int, SizeSpan]] = []
        held = 0
        for box in boxes:
            for columns, number in _columns_of(box, others):
                waiting.append((columns, number, box[last]))
                held += number
                if held >= PIECE:
                    yield _joined(waiting, others, xp)
                    waiting, held = [], 0
        if waiting:
            yield _joined(waiting, others, xp)

    def _of_piece(
        self, columns: Columns, span: SizeSpan, first: Any, final: Any, number: int, last: str
    ) -> Iterator[tuple[Columns, int]]:
        xp = array_namespace()
        mask = xp.ones(number, bool)
        for part, sizes in self.parts.items():
            if sizes <= columns.keys():
                mask &= _holds(part, columns, number)
        rows = xp.flatnonzero(mask)
        columns, first, final = {name: each[rows] for name, each in columns.items()}, first[rows], final[rows]
        first, final = self._linear(columns, span, first, final, len(rows), last)
        for group in self.bounds.tests_of(last):
            if len(group) == 1:
                first, final = self._monotonic(group[0], columns, span, first, final, last)
        rows = xp.flatnonzero(final >= first)
        columns, first, final = {name: each[rows] for name, each in columns.items()}, first[rows], final[rows]
        if not len(rows):
            return
        if self.maximized:
            yield from self._largest(columns, span, first, final, last)
            return
        start = 0
        sums = xp.cumsum(final - first + 1).tolist()
        self._spend(sums[-1])
        while start < len(sums):  # rows with about one piece of candidates
            before = sums[start - 1] if start else 0
            stop = start + 1
            while stop < len(sums) and sums[stop] - before <= PIECE:
                stop += 1
            yield from self._expanded(columns, span, first, final, (start, stop), last)
            start = stop

    def _spend(self, candidates: int) -> None:
        most = (ROWS if has_numpy() else PLAIN_ROWS) if self.room is None else self.room[0]
        if candidates > most:
            raise SearchLimitError(
                "the conditions leave too many combinations to test; give shorter ranges, or solve for fewer sizes"
            )
        if self.room is not None:
            self.room[0] -= candidates

    def _expanded(
        self, columns: Columns, span: SizeSpan, first: Any, final: Any, rows: tuple[int, int], last: str
    ) -> Iterator[tuple[Columns, int]]:
        xp = array_namespace()
        start, stop = rows
        low, high = int(first[start]), int(final[start])
        if stop == start + 1 and high - low >= PIECE:  # one row with many candidates
            for at in range(low, high + 1, PIECE):
                count = min(PIECE, high + 1 - at)
                own = {name: xp.full(count, int(each[start]), xp.int64) for name, each in columns.items()}
                yield from self._tested({**own, last: _taken(span, at + xp.arange(count))}, count)
            return
        chosen = xp.arange(stop - start) + start
        counts = final[chosen] - first[chosen] + 1
        which = xp.repeat(chosen, counts)
        starts = xp.repeat(xp.cumsum(counts) - counts, counts)
        place = first[which] + (xp.arange(len(which)) - starts)
        own = {name: each[which] for name, each in columns.items()}
        yield from self._tested({**own, last: _taken(span, place)}, len(which))

    def _tested(self, columns: Columns, number: int) -> Iterator[tuple[Columns, int]]:
        rows = array_namespace().flatnonzero(self._all_hold(columns, number))
        if len(rows):
            yield {name: each[rows] for name, each in columns.items()}, len(rows)

    def _all_hold(self, columns: Columns, number: int) -> Any:
        """Return a mask of the rows in which every condition holds, for some values of the free sizes."""
        xp = array_namespace()
        mask = xp.ones(number, bool)
        for each in self.programs:
            mask &= _holds(each, columns, number)
        rows = xp.flatnonzero(mask)
        if self.search.free.groups and len(rows):
            own = {name: each[rows] for name, each in columns.items()}
            mask[rows] = self.search.free.rows(own, len(rows))[1]
        return mask

    def _largest(
        self, columns: Columns, span: SizeSpan, first: Any, final: Any, last: str
    ) -> Iterator[tuple[Columns, int]]:
        """Yield the largest value of the size in each row, searching downwards."""
        xp = array_namespace()
        spent = 0
        while len(final):
            spent += len(final) + 10_000
            if spent > (NEAREST_ROWS if has_numpy() else PLAIN_ROWS * 100):
                raise SearchLimitError(
                    "search limit reached: almost no sizes satisfy the conditions; give each size a range"
                )
            own = {**columns, last: _taken(span, final)}
            good = self._all_hold(own, len(final))
            rows = xp.flatnonzero(good)
            if len(rows):
                yield {name: each[rows] for name, each in own.items()}, len(rows)
            rows = xp.flatnonzero(~good & (final > first))
            columns = {name: each[rows] for name, each in columns.items()}
            first, final = first[rows], final[rows] - 1

    def _linear(
        self, columns: Columns, span: SizeSpan, first: Any, final: Any, number: int, last: str
    ) -> tuple[Any, Any]:
        """Return the indices that the linear conditions leave in each row."""
        xp = array_namespace()
        if not number:
            return first, final
        box = SizeBox.of(last, self.parts, columns, number)
        values = span.values
        if isinstance(values, range):
            low, high = -((values.start - box.low) // values.step), (box.high - values.start) // values.step
        else:
            every = xp.array(values, xp.int64)
            low, high = every.searchsorted(box.low), every.searchsorted(box.high, side="right") - 1
        first, final = xp.maximum(first, low), xp.minimum(final, high)
        return first, xp.where(box.none, first - 1, final)

    def _monotonic(
        self, test: BoundedTest, columns: Columns, span: SizeSpan, first: Any, final: Any, last: str
    ) -> tuple[Any, Any]:
        """Return the indices that a condition leaves in each row, if it is monotonic in the size and not linear."""
        xp = array_namespace()
        way = test.direction(last)
        if not way or test.test.how not in ("at most", "is") or _is_linear(test, last) or not len(first):
            return first, final
        if not test.sizes <= {*columns, last}:
            return first, final
        if test.test.how == "is":
            under, over = (
                Program(Quotient(Polynomial()), test.definitions, (_condition(sides),))
                for sides in ((test.difference, Polynomial()), (Polynomial(), test.difference))
            )
            steps = [(under, -way), (over, way)]
        else:
            least = (Polynomial(), test.difference)
            steps = [(Program(Quotient(Polynomial()), test.definitions, (_condition(least),)), way)]
        for made, rising in steps:
            low, high = first - 1, final + 1  # the last index outside on one side, and the first one on the other side
            while True:
                going = high - low > 1
                if not going.any():
                    break
                middle = (low + high) // 2
                inside = xp.minimum(xp.maximum(middle, span.first), span.last)
                holds = _holds(made, {**columns, last: _taken(span, inside)}, len(first))
                up = ~holds if rising > 0 else holds
                low, high = xp.where(going & up, middle, low), xp.where(going & ~up, middle, high)
            first, final = (xp.maximum(first, high), final) if rising > 0 else (first, xp.minimum(final, low))
        return first, final


def _condition(sides: tuple[Polynomial, Polynomial]) -> ProgramCondition:
    return ProgramCondition("", (Test("at most", *sides),))


def _is_linear(test: BoundedTest, name: str) -> bool:
    """Return whether a size box represents the test exactly."""
    inside = Program(Quotient(Polynomial()), test.definitions).sizes_of(each.name for each in test.definitions)
    powers = {dict(monomial).get(name, 0) for monomial, _ in test.difference.terms}
    return name not in inside and powers <= {0, 1}


def _holds(made: Program, columns: Columns, number: int) -> Any:
    """Return a mask of the rows in which the conditions of a program hold."""
    xp = array_namespace()
    needed = Program(Quotient(Polynomial()), definitions_of(made, names_of(made)), made.conditions)
    own = {name: columns[name] for name in needed.sizes_of(names_of(needed))}
    mask = xp.ones(number, bool)
    for _, holds in compile_for_rows(needed, own).run(own)[1]:
        mask &= xp.broadcast_to(xp.asarray(holds, bool), mask.shape)
    return mask


def _halves(span: SizeSpan) -> tuple[SizeSpan, SizeSpan]:
    """Divide a span where its values double, if it has both halves, or else in the middle."""
    low, high = span.range
    middle = math.isqrt(low * high)
    start, stop = span.first, span.last
    while start < stop:  # the last index with a value of at most the geometric mean
        at = (start + stop + 1) // 2
        start, stop = (at, stop) if span.values[at] <= middle else (start, at - 1)
    cut = min(max(start, span.first), span.last - 1)
    return replace(span, last=cut), replace(span, first=cut + 1)


def _columns_of(box: Box, others: Sequence[str]) -> Iterator[tuple[Columns, int]]:
    """Yield the columns and the number of rows of pieces of a box, or one row without columns."""
    if not others:
        yield {}, 1
        return
    axes = tuple(Axis(Symbol(name), box[name].chosen) for name in others)
    for columns in Grid(axes).columns():
        yield columns, len(columns[others[0]])


def _joined(
    waiting: Sequence[tuple[Columns, int, SizeSpan]], others: Sequence[str], xp: Any
) -> tuple[Columns, Any, Any, int]:
    columns = {name: _chained([each[name] for each, _, _ in waiting], xp) for name in others}
    first = _chained([xp.full(number, span.first, xp.int64) for _, number, span in waiting], xp)
    final = _chained([xp.full(number, span.last, xp.int64) for _, number, span in waiting], xp)
    return columns, first, final, sum(number for _, number, _ in waiting)


def _chained(arrays: Sequence[Any], xp: Any) -> Any:
    if len(arrays) == 1:
        return arrays[0]
    return xp.concatenate(arrays)


def _taken(span: SizeSpan, places: Any) -> Any:
    """Return the values of a size at some indices."""
    xp = array_namespace()
    if isinstance(span.values, range):
        return span.values.start + span.values.step * places
    return xp.array(span.values, xp.int64)[places]
