"""What reckons the rows of a sweep, a piece at a time: every program planned before the first row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from sympy import Expr, Symbol

from ..formulas.arrays import WIDE, Numpy
from ..formulas.compiled import Compiled
from ..formulas.compiling import program, tested
from ..formulas.plan import Plan
from ..formulas.program import Program, Range
from ..language.errors import SizeError, quoted
from ..language.symbols import RANK, symbol
from .filters import Filter
from .grid import Piece


class Rows(Protocol):
    """Where sizes come from, a piece at a time: a grid, or the rows of a file."""

    @property
    def count(self) -> int: ...

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def ranges(self) -> Mapping[str, Range]: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    def pieces(self) -> Iterator[Piece]: ...


class Work:
    """What reckons a piece: programs with the fixed numbers put in, planned for its shape before the first row."""

    def __init__(
        self,
        target: str,
        rows: Rows,
        compiled: Mapping[str, Compiled],
        relations: Mapping[Symbol, Expr],
        where: Sequence[Symbol],
        filters: Sequence[Filter],
    ) -> None:
        names = frozenset(rows.names)
        self.ready: dict[str, Ready] = {}
        ranges = dict(rows.ranges)
        shapes = {name: _axis(rows, place) for place, name in enumerate(rows.names)}
        lacking = set[str]()
        fixed: dict[str, int] = {}
        for each in compiled.values():
            known = {name: number for name, number in each.given.items() if name not in names}
            fixed |= known
            lacking |= {name for name in each.symbols if name not in known and name not in names}
        if lacking:
            spelt = ", ".join(sorted(lacking, key=lambda name: RANK[symbol(name)]))
            raise SizeError(f"a sweep of {target} needs {spelt}: give each a number, or values to go over")
        said: set[str] = set()
        for quantity, each in compiled.items():
            own = each.program.concerned(frozenset({*fixed, *names}))
            kept = tuple(held for held in own.conditions if held.said not in said)  # what two ask for is asked once
            said |= {held.said for held in kept}
            made = Program(own.value, own.definitions, kept).at({**fixed})
            self.ready[quantity] = Ready(made, shapes, ranges)
        for quantity in compiled:
            ranges[quantity] = self.ready[quantity].plan.above.within(self.ready[quantity].plan.ranges, [])
            below = self.ready[quantity].plan.below.within(self.ready[quantity].plan.ranges, [])
            if below != (1, 1):
                ranges[quantity] = _over(ranges[quantity])
            shapes[quantity] = rows.shape
        self.ranges = ranges
        self.filters = []
        for condition in filters:
            sides = [side.xreplace(relations) for side in (condition.left, condition.right)]
            asked = {str(name) for side in sides for name in side.free_symbols}
            if unknown := sorted(asked - {*fixed, *names, *compiled}):
                raise SizeError(f"{quoted(condition.said)} needs a number for {', '.join(unknown)}")
            made = tested(condition.said, condition.how, *sides).at(fixed)
            self.filters.append(Ready(made, shapes, ranges))
        self.where = {
            str(size): Compiled(str(size), program(relations[size]), (), frozenset({*fixed, *names}), fixed)
            for size in where
        }

    def reckoned(self, piece: Piece, seen: Counter[str]) -> tuple[dict[str, Any], Any]:
        """The value of each quantity in a piece, and which rows stay, flat; None where all do."""
        import numpy

        values: dict[str, Any] = {}
        allowed: Any = None
        for quantity, ready in self.ready.items():
            values[quantity], holds = ready.run(piece.arrays)
            for said, each in holds:
                allowed = _both(allowed, each, said, seen, piece)
        for ready in self.filters:
            arrays = {**piece.arrays, **{name: numpy.asarray(value) for name, value in values.items()}}
            for said, each in ready.run(arrays)[1]:
                allowed = _both(allowed, each, said, seen, piece)
        if allowed is not None:
            allowed = numpy.broadcast_to(allowed, piece.shape).reshape(-1)
        return values, allowed


def _both(allowed: Any, holds: Any, said: str, seen: Counter[str], piece: Piece) -> Any:
    """What two conditions leave, and how many rows the second one takes from it."""
    import numpy

    holds = numpy.asarray(holds, bool)
    if holds.all():
        return allowed
    before = numpy.ones((), bool) if allowed is None else allowed
    after = before & holds
    seen[said] += _rows_of(before, piece) - _rows_of(after, piece)
    return after


def _rows_of(mask: Any, piece: Piece) -> int:
    return int(mask.sum()) * (piece.count // int(mask.size))


def _over(above: Range) -> Range:
    """What a quotient by a whole number stays between, whatever its sign."""
    most = max(map(abs, above))
    return -most, most


def _axis(rows: Rows, place: int) -> tuple[int, ...]:
    """The shape of one size's array in a piece."""
    shape = rows.shape
    return (shape[place], *(1,) * (len(shape) - place - 1)) if len(shape) == len(rows.names) else shape


class Ready:
    """A program planned for pieces of one shape."""

    def __init__(self, made: Program, shapes: Mapping[str, tuple[int, ...]], ranges: Mapping[str, Range]) -> None:
        self.program = made
        self.plan = Plan.of(made, shapes, ranges)
        self.peak = self.plan.peak

    def run(self, arrays: Mapping[str, Any]) -> tuple[Any, list[tuple[str, Any]]]:
        """The value, and each condition that may fail with where it holds."""
        import numpy

        do, plan, given = Numpy(numpy), self.plan, arrays
        if self.peak >= WIDE:
            shapes = {name: each.shape for name, each in arrays.items()}
            ranges = {name: (int(each.min()), int(each.max())) for name, each in arrays.items()}
            plan = Plan.of(self.program, shapes, ranges)
            kind = numpy.int64 if plan.peak < WIDE else object
            given = {name: each.astype(kind) for name, each in arrays.items()}
        values = plan.defined(given, do)
        holds = [(held.said, each) for held, each in plan.holding(values, do)]
        found = plan.value(values, do)
        if self.peak >= WIDE:
            found = numpy.asarray(found, object)
        return numpy.asarray(found), holds
