"""The values of one size that linear conditions allow in each row: a range, a step, and a number that it divides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..formulas.arrays import NARROW, WIDE
from ..formulas.program import Definition, Monomial, Polynomial, Program, Test
from ..formulas.program import RationalFunction as Quotient
from ..language.arithmetic import MAX_INTEGER
from .numpy_import import array_namespace
from .row_program import compile_for_rows

Columns = dict[str, Any]  # flat arrays of one length, by name
Line = tuple[Polynomial, Polynomial, Polynomial, Polynomial]  # a, b, c, d of a test that compares a + b·x with c + d·x


def line(test: Test, name: str, program: Program) -> Line | None:
    """Return both sides of a test as linear functions of a size, or None if a side is not linear."""
    sides: list[Polynomial] = []
    for side in (test.left, test.right):
        rest: list[tuple[Monomial, int]] = []
        slope: list[tuple[Monomial, int]] = []
        for monomial, number in side.terms:
            power = dict(monomial).get(name, 0)
            others = tuple(each for each in monomial if each[0] != name)
            if power > 1 or name in program.sizes_of(each for each, _ in others):
                return None
            (slope if power else rest).append((others, number))
        sides += [Polynomial.of(rest), Polynomial.of(slope)]
    return sides[0], sides[1], sides[2], sides[3]


@dataclass
class SizeBox:
    """The values that one size can still have in each row: arrays of one length."""

    low: Any
    high: Any
    step: Any  # the size is a multiple of this
    divides: Any  # and a divisor of this; 0 if no condition requires one
    none: Any  # the rows without any value left

    @classmethod
    def of(cls, name: str, programs: Mapping[Program, frozenset[str]], known: Columns, count: int) -> SizeBox:
        """Return the values of one size that the conditions allow; conditions with other unknown sizes are skipped.

        Parameters
        ----------
        name
            The size.
        programs
            Programs of one condition each, with the sizes in that condition.
        known
            The other sizes that have numbers, one for each row.
        count
            The number of rows.

        """
        box = cls.all(count)
        for each, sizes in programs.items():
            (held,) = each.conditions
            if name in sizes and sizes <= {*known, name} and not (held.one and len(held.tests) > 1):
                for test in held.tests:
                    sides = line(test, name, each)
                    if sides is not None:
                        box.hold(test.how, *(_values(side, each, known, count) for side in sides))
        return box.closed()

    @classmethod
    def all(cls, count: int) -> SizeBox:
        """Return the box that allows every size in every row."""
        xp = array_namespace()
        ones = xp.ones(count, xp.int64)
        return cls(ones.copy(), ones * MAX_INTEGER, ones.copy(), ones * 0, xp.zeros(count, bool))

    def hold(self, how: str, a: Any, b: Any, c: Any, d: Any) -> None:
        """Exclude the values that a test of a + b·x and c + d·x rejects, as far as a box can represent that."""
        a, b, c, d = exact(a, b, c, d)
        if how == "divides":
            self._divides(a, b, c, d)
            return
        slope, room = b - d, c - a  # the test compares slope·x with room
        flat = slope == 0
        some = _nonzero(slope)
        quotient = room // some
        if how == "at most":
            self._lower(-(room // _nonzero(-slope)), slope < 0)
            self._upper(quotient, slope > 0)
            self.none |= _mask(flat & (room < 0))
        elif how == "is":
            self._lower(quotient, ~flat)
            self._upper(quotient, ~flat)
            self.none |= _mask((~flat & (room % some != 0)) | (flat & (room != 0)))
        else:
            self.none |= _mask(flat & (room == 0))

    def _divides(self, a: Any, b: Any, c: Any, d: Any) -> None:
        """Apply the test that a + b·x divides c + d·x, if one of them is a constant and the other a multiple of x."""
        xp = array_namespace()
        if not (b != 0).any() and not (c != 0).any():
            step = abs(a) // _nonzero(xp.gcd(abs(a), abs(d)))
            self._multiple(xp.where(step == 0, 1, step), a != 0)
            self.none |= _mask(a == 0)
        elif not (d != 0).any() and not (a != 0).any():
            self.none |= _mask((b == 0) | (c % _nonzero(b) != 0))
            (divides, other) = exact(self.divides, abs(c) // _nonzero(abs(b)))
            self.divides = xp.gcd(divides, other)

    def _multiple(self, step: Any, where: Any) -> None:
        xp = array_namespace()
        mine, other = exact(self.step, xp.where(_mask(where), step, 1))
        both = mine // xp.gcd(mine, other) * other
        beyond = _mask(both > MAX_INTEGER)
        self.none |= beyond
        self.step = xp.where(beyond, 1, both).astype(xp.int64)

    def _lower(self, low: Any, where: Any) -> None:
        xp = array_namespace()
        self.none |= _mask(where & (low > MAX_INTEGER))
        bounded = xp.minimum(xp.maximum(low, 1), MAX_INTEGER).astype(xp.int64)
        self.low = xp.where(_mask(where), xp.maximum(self.low, bounded), self.low)

    def _upper(self, high: Any, where: Any) -> None:
        xp = array_namespace()
        bounded = xp.minimum(xp.maximum(high, 0), MAX_INTEGER).astype(xp.int64)
        self.high = xp.where(_mask(where), xp.minimum(self.high, bounded), self.high)

    def closed(self) -> SizeBox:
        """Bound the range by the number to divide, mark the rows without a multiple of the step, and return the box."""
        divides = self.divides
        self._upper(divides, divides > 0)
        self.none |= _mask((divides > 0) & (divides % self.step != 0))
        self.none |= self.high // self.step * self.step < self.low
        return self

    def outwards(self, row: int, preferred: int) -> Iterator[int]:
        """Yield the values of a row, the closest to the preferred one first; in a tie, the larger."""
        if self.none[row]:
            return
        low, high, step, divides = (int(each[row]) for each in (self.low, self.high, self.step, self.divides))
        if divides:
            from sympy import divisors

            every = [step * each for each in divisors(divides // step)]
            yield from sorted((x for x in every if low <= x <= high), key=lambda x: (abs(x - preferred), -x))
            return
        start = min(max(preferred, low), high)
        up = -(-start // step) * step
        down = up - step
        while up <= high or down >= low:
            if up <= high and (down < low or up - preferred <= preferred - down):
                yield up
                up += step
            else:
                yield down
                down -= step


def exact(*arrays: Any) -> tuple[Any, ...]:
    """Return the arrays, as Python integers if a product of two of them may exceed 64 bits."""
    largest = [max((int(abs(each).max(initial=0)), 0)) if each.size else 0 for each in arrays]
    if max(largest) < NARROW or max(largest) * max(1, sorted(largest)[-2]) < WIDE // 2:
        return arrays
    return tuple(each.astype(object) for each in arrays)


def separate_conditions(program: Program) -> dict[Program, frozenset[str]]:
    """Return each condition as a separate program, with its sizes."""
    parts = [Program(Quotient(Polynomial()), program.definitions, (held,)) for held in program.conditions]
    return {each: each.sizes_of(names_of(each)) for each in parts}


def names_of(program: Program) -> frozenset[str]:
    """Return the names in the conditions of a program, including the names of definitions."""
    return frozenset(name for held in program.conditions for name in held.names)


def definitions_of(program: Program, names: Iterable[str]) -> tuple[Definition, ...]:
    """Return the definitions that some names need, directly or indirectly."""
    calls = {each.name: each for each in program.definitions}
    waiting, found = [*names], set[str]()
    while waiting:
        name = waiting.pop()
        if name in calls and name not in found:
            found.add(name)
            waiting += [other for argument in calls[name].arguments for other in argument.names]
    return tuple(each for each in program.definitions if each.name in found)


def _values(polynomial: Polynomial, program: Program, known: Columns, count: int) -> Any:
    """Return the values of a polynomial in all rows."""
    xp = array_namespace()
    made = Program(Quotient(polynomial), definitions_of(program, polynomial.names))
    columns = {name: known[name] for name in made.sizes_of(polynomial.names)}
    return xp.broadcast_to(xp.asarray(compile_for_rows(made, columns).run(columns)[0]), (count,))


def _nonzero(array: Any) -> Any:
    xp = array_namespace()
    return xp.where(array == 0, 1, array)


def _mask(array: Any) -> Any:
    return array.astype(bool)
