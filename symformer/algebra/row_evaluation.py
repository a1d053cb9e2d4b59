"""Computation of the rows of a sweep, one piece at a time, with programs compiled before the first row."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Protocol

from sympy import Expr, Symbol

from ..formulas.compiled_formula import Compiled
from ..formulas.compiler import program
from ..formulas.program import Program, Range, RationalFunction
from ..language.errors import SizeError, quoted
from ..language.symbols import named_symbol, print_order
from .free_sizes import FreeSizes
from .grid import RowChunk
from .quantity_conditions import QuantityCondition
from .row_program import RowProgram

EXACT = 400  # the cost of an exact fraction, relative to an operation on 64-bit integers


class RowSource(Protocol):
    """A source of sizes in pieces: a grid, or the rows of a file."""

    @property
    def count(self) -> int: ...

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def labels(self) -> tuple[str, ...]: ...

    @property
    def ranges(self) -> Mapping[str, Range]: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    def chunks(self) -> Iterator[RowChunk]: ...


class RowEvaluator:
    """The programs of a sweep, with fixed numbers substituted, compiled for the shape of a piece."""

    def __init__(
        self,
        target: str,
        rows: RowSource,
        compiled: Mapping[str, Compiled],
        relations: Mapping[Symbol, Expr],
        where: Sequence[Symbol],
        filters: Sequence[QuantityCondition],
        free: Mapping[str, int | None],
        ratios: Collection[str],
        given: Mapping[str, int],
    ) -> None:
        names = frozenset(rows.names)
        self.ready: dict[str, RowProgram] = {}
        self.below: dict[str, RowProgram] = {}  # the denominators of the quantities that are fractions
        ranges = dict(rows.ranges)
        shapes = {name: _axis(rows, place) for place, name in enumerate(rows.names)}
        lacking = set[str]()
        fixed: dict[str, int] = {}
        for each in compiled.values():
            known = {name: number for name, number in each.defaults.items() if name not in names and name not in free}
            fixed |= known
            lacking |= {name for name in each.symbols if name not in known and name not in names}
        if lacking:
            spelt = ", ".join(sorted(lacking, key=lambda name: print_order(named_symbol(name))))
            raise SizeError(
                f"a sweep of {target} needs a value for {spelt}; set one value with --set, or several with --grid"
            )
        said: set[str] = set()
        deciding: list[Program] = []  # programs with conditions on the free sizes
        for quantity, each in compiled.items():
            own = each.program.concerned(frozenset({*fixed, *names, *free}))
            kept = tuple(held for held in own.conditions if held.said not in said)  # check shared conditions only once
            said |= {held.said for held in kept}
            made = Program(own.value, own.definitions, kept).at(fixed)
            deciding.append(made)
            if quantity in ratios:  # the numerator and the denominator of an exact fraction
                under = Program(RationalFunction(made.value.denominator), made.definitions)
                self.below[quantity] = RowProgram(under, shapes, ranges)
                made = replace(made, value=RationalFunction(made.value.above))
            self.ready[quantity] = RowProgram(made.concerned(names), shapes, ranges)
        for quantity in compiled:
            ranges[quantity] = self.ready[quantity].plan.above.within(self.ready[quantity].plan.ranges, [])
            below = self.ready[quantity].plan.below.within(self.ready[quantity].plan.ranges, [])
            if below != (1, 1):
                ranges[quantity] = _over(ranges[quantity])
            shapes[quantity] = rows.shape
        self.ranges = ranges
        self.filters = []
        for condition in filters:
            asked = {str(each) for name in condition.sizes for each in relations.get(name, name).free_symbols}
            if unknown := sorted(asked - {*fixed, *names, *compiled, *free}):
                fixed |= {name: number for name in unknown if (number := given.get(name)) is not None}
            if unknown := sorted(asked - {*fixed, *names, *compiled, *free}):
                raise SizeError(f"{quoted(condition.text)} needs a value for {', '.join(unknown)}")
            for test in condition.programs(relations):
                own = test.concerned(frozenset({*fixed, *names, *compiled, *free}))
                kept = tuple(held for held in own.conditions if held.said not in said)
                said |= {held.said for held in kept}
                if not kept:
                    continue
                made = replace(own, conditions=kept).at(fixed)
                if any(made.sizes_of(held.names) & free.keys() for held in kept):
                    deciding.append(made)
                    made = made.concerned(frozenset({*names, *compiled}))
                if made.conditions:
                    self.filters.append(RowProgram(made, shapes, ranges))
        self.free = FreeSizes(deciding, free)
        every = [*self.ready.values(), *self.below.values(), *self.filters]
        self.cost = sum(each.cost for each in every) / math.prod(rows.shape)  # operations per row
        self.cost += EXACT * len(self.below)
        self.where = {
            str(size): Compiled(str(size), program(relations[size]), (), frozenset({*fixed, *names}), fixed)
            for size in where
        }

    def computed(self, piece: RowChunk, seen: Counter[str]) -> tuple[dict[str, Any], Any]:
        """Return the values of each quantity in a piece, and a flat mask of the remaining rows, or None for all."""
        import numpy

        values: dict[str, Any] = {}
        allowed: Any = None
        for quantity, ready in self.ready.items():
            values[quantity], holds = ready.run(piece.arrays)
            for said, each in holds:
                allowed = _both(allowed, each, said, seen, piece)
            if quantity in self.below:
                below, _ = self.below[quantity].run(piece.arrays)
                allowed = _both(allowed, below != 0, f"{quantity} does not divide by 0", seen, piece)
                above = numpy.asarray(values[quantity], object)
                below = numpy.asarray(numpy.where(below == 0, 1, below), object)
                values[quantity] = numpy.asarray(numpy.frompyfunc(Fraction, 2, 1)(above, below), object)
        for group in self.free.groups:
            chosen, each = group.chosen(
                {**piece.arrays, **{name: numpy.asarray(value) for name, value in values.items()}}
            )
            values |= chosen
            allowed = _both(allowed, each, group.said, seen, piece)
        for ready in self.filters:
            arrays = {**piece.arrays, **{name: numpy.asarray(value) for name, value in values.items()}}
            for said, each in ready.run(arrays)[1]:
                allowed = _both(allowed, each, said, seen, piece)
        if allowed is not None:
            allowed = numpy.broadcast_to(allowed, piece.shape).reshape(-1)
        return values, allowed


def _both(allowed: Any, holds: Any, said: str, seen: Counter[str], piece: RowChunk) -> Any:
    """Combine two masks, and count the rows that the second one removes."""
    import numpy

    holds = numpy.asarray(holds, bool)
    if holds.all():
        return allowed
    before = numpy.ones((), bool) if allowed is None else allowed
    after = before & holds
    seen[said] += _rows_of(before, piece) - _rows_of(after, piece)
    return after


def _rows_of(mask: Any, piece: RowChunk) -> int:
    return int(mask.sum()) * (piece.count // int(mask.size))


def _over(above: Range) -> Range:
    """Return bounds of a quotient by an integer of either sign."""
    most = max(map(abs, above))
    return -most, most


def _axis(rows: RowSource, place: int) -> tuple[int, ...]:
    """Return the shape of one size's array in a piece."""
    shape = rows.shape
    return (shape[place], *(1,) * (len(shape) - place - 1)) if len(shape) == len(rows.names) else shape
