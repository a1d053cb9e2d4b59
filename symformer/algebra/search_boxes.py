"""Bounds on sizes under a limit on the value: boxes that contain every combination within the limit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from sympy import Symbol

from ..formulas.program import CALL, Definition, Monomial, Program
from ..language.arithmetic import MAX_INTEGER
from ..language.errors import SizeError
from ..language.symbols import named_symbol
from .grid import Axis, length

MOST = 2 * 10**8  # maximum number of combinations


class SearchLimitError(SizeError):
    """A search that would take too long."""


@dataclass(frozen=True)
class OpenSize:
    """An unknown size: any positive integer, or the values of a range or list."""

    size: Symbol
    values: range | tuple[int, ...] | None = None

    @classmethod
    def read(cls, argument: str) -> OpenSize:
        """Parse ``L``, ``E=512:8192:128`` or ``A=8,16``. Raises SizeError, UnknownNameError."""
        if "=" not in argument:
            return cls(named_symbol(argument.strip()))
        axis = Axis.read(argument)
        return cls(axis.size, axis.values if isinstance(axis.values, range) else tuple(sorted(axis.values)))

    @cached_property
    def name(self) -> str:
        """The name of the size."""
        return str(self.size)

    @property
    def all(self) -> range | tuple[int, ...]:
        """All possible values."""
        return range(1, MAX_INTEGER + 1) if self.values is None else self.values


class SearchRegion:
    """The bounds of the unknown sizes of a program; all other sizes are numbers."""

    def __init__(self, program: Program, sizes: Sequence[OpenSize], what: str) -> None:
        self.program, self.sizes, self.what = program, {each.name: each for each in sizes}, what
        self.signs = signs_of(program.definitions)
        below = program.sizes_of(dict(program.value.below))
        self.growing = {name for name in self.sizes if name not in below and self._grows(name)}
        self.bounded = self.growing == {*self.sizes} and not below

    def _grows(self, name: str) -> bool:
        """Return True if the value never decreases as a size grows, for all values of the others."""
        for monomial, number in self.program.value.above.terms:
            inside = self.program.sizes_of([each for each, _ in monomial])
            if name in inside and not (number * self._sign(monomial) > 0):
                return False
        return True

    def _sign(self, monomial: Monomial) -> int:
        sign = 1
        for each, power in monomial:
            sign *= self.signs.get(each, 1 if not each.startswith(CALL) else 0) ** power
        return sign

    def least(self, name: str) -> int:
        """Return the smallest value of a size."""
        return self.sizes[name].all[0]

    def stays(self, point: Mapping[str, int], high: int) -> bool:
        """Return True if the value is within a limit at given numbers of all unknown sizes."""
        made = self.program.at(point)
        above = made.value.above.constant
        return above is not None and above <= high * made.value.number

    def values(self, name: str, before: Mapping[str, int], high: int) -> range | tuple[int, ...]:
        """Return the values of a size that stay within a limit if the others are as small as possible."""
        every = self.sizes[name].all
        if not self.bounded:
            if self.sizes[name].values is None:
                raise SizeError(
                    f"{self.what} need not grow with {', '.join(sorted({*self.sizes} - self.growing) or [name])}, so "
                    f"{name} has no upper bound; give it a range, as in --find {name}=1:4096:1"
                )
            return every
        others = {**{other: self.least(other) for other in self.sizes}, **before}
        if self.stays({**others, name: every[-1]}, high):
            if self.sizes[name].values is None:
                raise SizeError(
                    f"{self.what} stays within the limit for every {name}; give it a range, or choose another size"
                )
            return every
        low, top = -1, length(every) - 1  # the last index within the limit, and one beyond it
        step = 1
        while low + step < top and self.stays({**others, name: every[low + step]}, high):
            low, step = low + step, step * 2
        top = min(top, low + step)
        while top - low > 1:
            middle = (low + top) // 2
            if self.stays({**others, name: every[middle]}, high):
                low = middle
            else:
                top = middle
        return every[: low + 1]

    def boxes(
        self, names: Sequence[str], high: int, before: Mapping[str, int] | None = None
    ) -> Iterator[tuple[Axis, ...]]:
        """Yield grids that together contain every combination within the limit, and few others."""
        if not names:
            yield ()
            return
        before = before or {}
        first, *others = names
        values = self.values(first, before, high)
        start, end, size = 0, length(values), self.sizes[first].size
        while start < end:
            stop = end if not others or not self.bounded else min(end, max(start + 1, 2 * start))
            piece = values[start:stop]
            for rest in self.boxes(others, high, {**before, first: piece[0]}):
                yield Axis(size, piece), *rest
            start = stop

    def looked(self, names: Sequence[str], high: int, most: int = MOST, why: str = "") -> list[tuple[Axis, ...]]:
        """Return the grids of ``boxes`` as a list.

        Raises SearchLimitError, with a reason for the limit, if they have too many combinations.
        """
        found, count = [], 0
        for box in self.boxes(names, high):
            found.append(box)
            count += math.prod(length(axis.values) for axis in box)
            if count > most:
                what = f"the sizes {', '.join(names)} have" if len(names) > 1 else f"{names[0]} has"
                kind = "combinations" if len(names) > 1 else "values"
                raise SearchLimitError(
                    f"{what} more than {most:,} {kind} within the limit{why}; give ranges, as in --find "
                    f"{names[-1]}=64:16384:64, or solve for fewer sizes"
                )
        return found


def signs_of(definitions: Sequence[Definition]) -> dict[str, int]:
    """Return for each definition 1 if it is positive and increasing, -1 if negative and decreasing, otherwise 0."""
    found: dict[str, int] = {}
    for each in definitions:
        arguments = each.arguments[:1] if each.function == "floor" else each.arguments
        signs = set()
        for argument in arguments:
            for monomial, number in argument.terms:
                known = math.prod(
                    found.get(name, 0 if name.startswith(CALL) else 1) ** power for name, power in monomial
                )
                sign = known * number
                signs.add((sign > 0) - (sign < 0))
        below = each.arguments[1].constant if each.function == "floor" else 1
        found[each.name] = signs.pop() if len(signs) == 1 and below is not None and below > 0 else 0
    return found
