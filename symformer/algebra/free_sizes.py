"""Sizes that occur only in conditions and have no given value: each row gets values that satisfy its conditions.

For example, the parameter count of GPT-2 does not contain the number of heads, which only has to divide the width. A
width that is not a multiple of 12 is still a GPT-2, with another number of heads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from ..formulas.program import Program
from ..language.errors import SizeError
from ..language.symbols import named_symbol, print_order
from .box import SizeBox, definitions_of, names_of, separate_conditions
from .numpy_import import array_namespace
from .row_program import compile_for_rows

Columns = dict[str, Any]  # flat arrays of one length, by name

STEPS = 64  # candidates tried for all rows at once, before divisors are listed
TRIED = 20_000  # candidates tried for a single row
ALONE = 5_000  # rows that are decided one by one


class FreeSizes:
    """The free sizes of some programs, in groups that share conditions.

    Parameters
    ----------
    programs
        The programs with the conditions. Every size that is neither free nor varies between rows is already a number.
    preferred
        The free sizes, each with its value in the model, or None. A row keeps this value if its conditions allow it;
        otherwise it gets the closest value that they allow.

    """

    def __init__(self, programs: Iterable[Program], preferred: Mapping[str, int | None]) -> None:
        self.groups: list[Group] = []
        known = {name: 1 if number is None else number for name, number in preferred.items()}
        parts = [
            (sizes, program)
            for each in programs
            for program, sizes in separate_conditions(each).items()
            if sizes & known.keys()
        ]
        waiting = set().union(*(sizes & known.keys() for sizes, _ in parts))
        while waiting:
            names = {min(waiting)}
            while more := set().union(*(sizes for sizes, _ in parts if sizes & names)) & known.keys() - names:
                names |= more
            waiting -= names
            own = [program for sizes, program in parts if sizes & names]
            self.groups.append(Group(sorted(names, key=lambda name: print_order(named_symbol(name))), own, known))

    @property
    def names(self) -> tuple[str, ...]:
        """The sizes that can change from row to row, in the order of the alphabet."""
        every = [name for group in self.groups if group.on for name in group.names]
        return tuple(sorted(every, key=lambda name: print_order(named_symbol(name))))

    @property
    def constant(self) -> dict[str, int]:
        """The sizes that are the same in all rows, with their values."""
        found: dict[str, int] = {}
        for group in self.groups:
            if not group.on:
                columns, holds = group.rows({}, 1)
                found |= {name: int(column[0]) for name, column in columns.items() if holds[0]}
        return found

    def rows(self, columns: Columns, count: int) -> tuple[Columns, Any]:
        """Return a column for each free size, and a mask of the rows in which all conditions hold."""
        xp = array_namespace()
        found: Columns = {}
        allowed = xp.ones(count, bool)
        for group in self.groups:
            own, holds = group.rows(columns, count)
            found |= {name: xp.broadcast_to(column, (count,)) for name, column in own.items()}
            allowed &= xp.broadcast_to(holds, (count,))
        return found, allowed


class Group:
    """Free sizes that share conditions, and these conditions, each as a separate program."""

    def __init__(self, names: Sequence[str], programs: Sequence[Program], preferred: Mapping[str, int]) -> None:
        self.names = tuple(names)
        self.preferred = {name: preferred[name] for name in names}
        self.programs = {each: each.sizes_of(names_of(each)) for each in programs}
        self.on = tuple(
            sorted(set().union(*self.programs.values()) - {*names})
        )  # the sizes on which the values depend, row by row
        said = " and ".join(dict.fromkeys(held.said for each in programs for held in each.conditions))
        self.said = f"{said} for some {' and '.join(names)}"
        self._known: dict[tuple[int, ...], tuple[int, ...] | None] = {}
        self._last: tuple[tuple[Any, ...], tuple[Columns, Any]] | None = None

    def rows(self, columns: Columns, count: int) -> tuple[Columns, Any]:
        """Return the values for each row, and a mask of the rows that have any; single ones if all rows are alike.

        Raises SizeError if too many values would have to be tried.
        """
        return self._rows({name: columns[name] for name in self.on}, count) if self.on else self._alike

    @cached_property
    def _alike(self) -> tuple[Columns, Any]:
        return self._rows({}, 1)

    def chosen(self, arrays: Mapping[str, Any]) -> tuple[Columns, Any]:
        """Return the values for each row, and a mask of the rows that have any, in the shape the arrays broadcast to.

        Raises SizeError if too many values would have to be tried.
        """
        import numpy

        given = tuple(arrays[name] for name in self.on)
        if self._last is None or not all(a is b for a, b in zip(self._last[0], given, strict=True)):
            shape = numpy.broadcast_shapes(*(each.shape for each in given))
            flat = {name: numpy.broadcast_to(arrays[name], shape).reshape(-1) for name in self.on}
            columns, holds = self._rows(flat, int(numpy.prod(shape)))
            found = {name: column.reshape(shape) for name, column in columns.items()}, holds.reshape(shape)
            self._last = given, found
        return self._last[1]

    def _rows(self, flat: Columns, count: int) -> tuple[Columns, Any]:
        xp = array_namespace()
        values = {name: xp.full(count, number, xp.int64) for name, number in self.preferred.items()}
        holds = self._hold({**flat, **values}, count)
        rows = xp.flatnonzero(~holds)
        for name in self.names:  # this one varies, and the others keep their preferred values
            known = {each: column[rows] for each, column in {**flat, **values}.items() if each != name}
            column, sound, refuted = self._nearest(name, known, len(rows))
            values[name][rows[sound]] = column[sound]
            holds[rows[sound]] = True
            rows = rows[~sound & ~refuted] if len(self.names) == 1 else rows[~sound]
        points = zip(*(flat[name][rows].tolist() for name in self.on), strict=True) if self.on else [()] * len(rows)
        for row, point in zip(rows.tolist(), points, strict=True):
            found = self._alone(tuple(point))
            if found is not None:
                holds[row] = True
                for name, number in zip(self.names, found, strict=True):
                    values[name][row] = number
        return values, holds

    def _nearest(self, name: str, known: Columns, count: int) -> tuple[Any, Any, Any]:
        """Return the closest values of one size, the rows that have one, and the rows that certainly have none."""
        xp = array_namespace()
        box, preferred = SizeBox.of(name, self.programs, known, count), self.preferred[name]
        found = xp.full(count, preferred, xp.int64)
        sound, refuted = xp.zeros(count, bool), box.none.copy()
        rows = xp.flatnonzero(~refuted)
        low, high, step = (each[rows] for each in (box.low, box.high, box.step))
        up = -(-xp.minimum(xp.maximum(preferred, low), high) // step) * step
        down = up - step
        for _ in range(STEPS):
            over, under = up <= high, down >= low
            refuted[rows[~over & ~under]] = True
            left = over | under
            rows, low, high, step, up, down, over, under = (
                each[left] for each in (rows, low, high, step, up, down, over, under)
            )
            if not len(rows):
                break
            upwards = over & (~under | (up - preferred <= preferred - down))
            tried = xp.where(upwards, up, down)
            good = self._hold({**{each: column[rows] for each, column in known.items()}, name: tried}, len(rows))
            found[rows[good]], sound[rows[good]] = tried[good], True
            up, down = xp.where(upwards, up + step, up), xp.where(upwards, down, down - step)
            rows, low, high, step, up, down = (each[~good] for each in (rows, low, high, step, up, down))
        rows = rows[box.divides[rows] > 0]  # these rows have few values: the divisors of a number
        waiting = [(row, box.outwards(row, preferred)) for row in rows.tolist()]
        while waiting:
            pairs = [(row, values, next(values, None)) for row, values in waiting]
            refuted[[row for row, _, number in pairs if number is None]] = True
            pairs = [each for each in pairs if each[2] is not None]
            places = xp.array([row for row, _, _ in pairs], xp.int64)
            tried = xp.array([number for _, _, number in pairs], xp.int64)
            good = self._hold({**{each: column[places] for each, column in known.items()}, name: tried}, len(places))
            found[places[good]], sound[places[good]] = tried[good], True
            waiting = [(row, values) for (row, values, _), held in zip(pairs, good.tolist(), strict=True) if not held]
        return found, sound, refuted

    def _alone(self, point: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return values for one row, trying all free sizes together, or None if there are none."""
        if point in self._known:
            return self._known[point]
        if len(self._known) >= ALONE:
            raise self._undecided()
        left = TRIED

        def search(fixed: dict[str, int]) -> dict[str, int] | None:
            nonlocal left
            boxes = {
                name: SizeBox.of(name, self.programs, _columns(fixed), 1) for name in self.names if name not in fixed
            }
            if not boxes:
                return fixed
            name = min(boxes, key=lambda each: int(boxes[each].high[0]))
            for number in boxes[name].outwards(0, self.preferred[name]):
                left -= 1
                if left < 0:
                    raise self._undecided()
                point = {**fixed, name: number}
                if self._hold(_columns(point), 1)[0] and (found := search(point)) is not None:
                    return found
            return None

        found = search(dict(zip(self.on, point, strict=True)))
        self._known[point] = None if found is None else tuple(found[name] for name in self.names)
        return self._known[point]

    def _undecided(self) -> SizeError:
        names = " and ".join(self.names)
        return SizeError(f"finding rows where {self.said} would take too long; set {names}")

    def _hold(self, columns: Columns, count: int) -> Any:
        """Return a mask of the rows in which all conditions hold; conditions with unknown sizes are skipped."""
        xp = array_namespace()
        mask = xp.ones(count, bool)
        for each, sizes in self.programs.items():
            if sizes <= columns.keys():
                made = Program(each.value, definitions_of(each, names_of(each)), each.conditions)
                for _, holds in compile_for_rows(made, {name: columns[name] for name in sizes}).run(columns)[1]:
                    mask &= xp.broadcast_to(xp.asarray(holds, bool), mask.shape)
        return mask


def _columns(point: Mapping[str, int]) -> Columns:
    xp = array_namespace()
    return {name: xp.array([number]) for name, number in point.items()}
