"""Grids of sizes: all combinations of the values of some axes, in pieces that fit in a cache."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from sympy import Integer, Symbol

from ..language.errors import SizeError, quoted
from ..language.sizes import check_relation, format_value, whole
from ..language.symbols import named_symbol
from . import plain_arrays
from .numpy_import import has_numpy

PIECE = 2**17  # combinations per piece: one megabyte of 64-bit integers
MOST = 10**15  # maximum number of combinations
LISTED = 10**6  # maximum number of values in a list


def length(values: range | tuple[int, ...]) -> int:
    """Return the number of values. On 32-bit platforms such as WebAssembly, ``len`` of a range fails from 2^31."""
    if isinstance(values, range):
        return max(0, -(-(values.stop - values.start) // values.step))
    return len(values)


@dataclass(frozen=True)
class Axis:
    """A size and its values, in order."""

    size: Symbol
    values: range | tuple[int, ...]

    @classmethod
    def read(cls, argument: str) -> Axis:
        """Parse NAME=START:STOP:STEP, which includes both ends, or NAME=VALUE,VALUE. Raises SizeError.

        >>> Axis.read("E=512:1024:256"), Axis.read("L=12,24")
        (Axis(size=E, values=range(512, 1025, 256)), Axis(size=L, values=(12, 24)))
        """
        name, equals, values = argument.partition("=")
        if not equals or not name.strip() or not values.strip():
            raise SizeError(f"{format_value(argument)} is not of the form NAME=START:STOP:STEP, such as E=512:8192:128")
        return cls.of(name.strip(), values)

    @classmethod
    def of(cls, name: str, values: object) -> Axis:
        """Return an axis from text, a range, a number or several numbers. Raises SizeError."""
        size = named_symbol(name)
        if isinstance(values, str):
            parts = values.split(":") if ":" in values else values.split(",")
            found = [_number(size, each, values) for each in parts]
            if ":" in values:
                return cls(size, _range(size, values, found))
            return cls._listed(size, found)
        if isinstance(values, range):
            if not values:
                raise SizeError(f"{name} has no values; {values} is empty")
            for each in (values[0], values[-1]):
                whole(name, each)
            return cls(size, values)
        if isinstance(values, Iterable):
            return cls._listed(size, [whole(name, each) for each in values])
        return cls._listed(size, [whole(name, values)])

    @classmethod
    def _listed(cls, size: Symbol, values: Sequence[int]) -> Axis:
        if not values or len(values) > LISTED:
            raise SizeError(f"{size} has {len(values):,} values; give 1 to {LISTED:,}, or a range")
        if len(set(values)) < len(values):
            twice = next(each for place, each in enumerate(values) if each in values[:place])
            raise SizeError(f"{size} has the value {twice} twice; give each value once")
        return cls(size, tuple(values))

    @property
    def ends(self) -> tuple[int, int]:
        """The smallest and the largest value."""
        return min(self.values[0], self.values[-1], *self._all), max(self.values[0], self.values[-1], *self._all)

    @property
    def _all(self) -> tuple[int, ...]:
        return self.values if isinstance(self.values, tuple) else ()

    def array(self, first: int, count: int) -> Any:
        """Return some of its values as a NumPy array."""
        import numpy

        piece = self.values[first : first + count]
        if isinstance(piece, range):
            return numpy.arange(piece.start, piece.stop, piece.step, dtype=numpy.int64)
        return numpy.array(piece, numpy.int64)

    def __str__(self) -> str:
        if isinstance(self.values, range) and length(self.values) > 1:
            return f"{self.size} = {self.values[0]:,} to {self.values[-1]:,} by {self.values.step:,}"
        shown = ", ".join(f"{each:,}" for each in self.values[:8])
        return f"{self.size} = {shown}" + f", and {length(self.values) - 8:,} more" * (length(self.values) > 8)


def _number(size: Symbol, text: str, argument: str) -> int:
    if not text.strip():
        raise SizeError(f"{size}={argument.strip()[:60]}: a value is missing; write START:STOP:STEP, or VALUE,VALUE")
    value = check_relation(size, text)
    if not isinstance(value, Integer):
        raise SizeError(f"{size}={text.strip()[:60]} is not a number; define a size by others with --where")
    return int(value)


def _range(size: Symbol, text: str, found: Sequence[int]) -> range:
    argument = f"{size}={text.strip()}"
    if len(found) > 3:
        raise SizeError(f"{quoted(argument)} has {len(found)} numbers; a range is START:STOP:STEP, including both ends")
    start, stop, step = (*found, 1) if len(found) == 2 else found
    if stop < start:
        raise SizeError(f"{quoted(argument)} ends below its start; write {size}={stop}:{start}:{step}")
    if (stop - start) % step:
        last = stop - (stop - start) % step
        raise SizeError(
            f"{quoted(argument)} does not reach {stop} in steps of {step} (the end is included); end at {last} "
            f"or {last + step}"
        )
    return range(start, stop + 1, step)


@dataclass(frozen=True)
class RowChunk:
    """A block of rows: arrays by name that broadcast to one shape. Flattened, they are in the order of the rows."""

    arrays: Mapping[str, Any]
    shape: tuple[int, ...]
    labels: Mapping[str, Any] = field(default_factory=dict)  # text per row, not used in any computation

    @property
    def count(self) -> int:
        """The number of rows."""
        return math.prod(self.shape)

    def column(self, name: str, kept: Any = None) -> Any:
        """Return one column, for all rows or for the rows at some indices."""
        import numpy

        array = self.arrays[name]
        if kept is None:
            return numpy.broadcast_to(array, self.shape).reshape(-1)
        places = numpy.unravel_index(kept, self.shape)
        padded = (1,) * (len(self.shape) - array.ndim) + array.shape
        own = [place if wide > 1 else 0 for place, wide in zip(places, padded, strict=True)]
        return numpy.broadcast_to(array.reshape(padded)[tuple(own)], kept.shape)


@dataclass(frozen=True)
class Grid:
    """All combinations of the values of some axes; the last axis varies fastest."""

    axes: tuple[Axis, ...]

    def __post_init__(self) -> None:
        """Check for repeated axes and the number of combinations. Raises SizeError."""
        names = [each.size for each in self.axes]
        for name in names:
            if names.count(name) > 1:
                raise SizeError(f"{name} is given twice; keep one")
        if self.count > MOST:
            raise SizeError(f"the grid has {self.count:,} combinations; at most {MOST:,} are supported")

    @property
    def count(self) -> int:
        """The number of combinations."""
        return math.prod(length(each.values) for each in self.axes)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the sizes, in order."""
        return tuple(str(each.size) for each in self.axes)

    @property
    def labels(self) -> tuple[str, ...]:
        """The text columns, of which a grid has none."""
        return ()

    @property
    def ranges(self) -> dict[str, tuple[int, int]]:
        """The smallest and the largest value of each size."""
        return {str(each.size): each.ends for each in self.axes}

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of a full piece: all values of the last axes, some of the axis before them, one of the others."""
        found: list[int] = []
        room = PIECE
        for each in reversed(self.axes):
            values = length(each.values)
            cuts = -(-values // max(1, room))
            found.append(-(-values // cuts))  # parts of nearly equal length
            room //= values if cuts == 1 else room + 1
        return tuple(reversed(found))

    def chunks(self) -> Iterator[RowChunk]:
        """Yield all combinations, one piece at a time."""
        kept: list[tuple[int, Any] | None] = [None] * len(self.axes)
        for parts in self._parts():
            arrays = {}
            for place, (axis, (start, count)) in enumerate(zip(self.axes, parts, strict=True)):
                there = kept[place]
                if there is None or there[0] != start:
                    there = start, axis.array(start, count).reshape(-1, *(1,) * (len(parts) - place - 1))
                    kept[place] = there
                arrays[str(axis.size)] = there[1]
            yield RowChunk(arrays, tuple(count for _, count in parts))

    def columns(self) -> Iterator[dict[str, Any]]:
        """Yield the same pieces as flat columns. This needs no NumPy."""
        if has_numpy():
            for chunk in self.chunks():
                yield {name: chunk.column(name) for name in chunk.arrays}
            return
        for parts in self._parts():
            pieces = [axis.values[start : start + count] for axis, (start, count) in zip(self.axes, parts, strict=True)]
            columns = zip(*product(*pieces), strict=True)
            yield {name: plain_arrays.PlainArray(column) for name, column in zip(self.names, columns, strict=True)}

    def _parts(self) -> Iterator[list[tuple[int, int]]]:
        """Yield the start and the number of the values of each axis in each piece."""
        shape = self.shape
        lengths = [length(each.values) for each in self.axes]
        starts = [0] * len(shape)
        while True:
            counts = [min(wide, values - start) for wide, values, start in zip(shape, lengths, starts, strict=True)]
            yield [*zip(starts, counts, strict=True)]
            place = len(shape) - 1
            while place >= 0:
                starts[place] += shape[place]
                if starts[place] < lengths[place]:
                    break
                starts[place] = 0
                place -= 1
            if place < 0:
                return
