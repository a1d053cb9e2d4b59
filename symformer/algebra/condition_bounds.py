"""Bounds on conditions over boxes of sizes: whether a condition can hold anywhere in a box, by interval arithmetic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..formulas.array_plan import range_of
from ..formulas.program import CALL, Definition, Polynomial, Program, Range, Test
from .box import definitions_of
from .grid import length
from .search_boxes import signs_of

ROUNDS = 8  # how often the bounds of all sizes are propagated
Values = range | tuple[int, ...]


@dataclass(frozen=True)
class SizeSpan:
    """Consecutive values of a size: those from one index to another one."""

    values: Values
    first: int
    last: int

    @classmethod
    def all(cls, values: Values) -> SizeSpan:
        """Return all values."""
        return cls(values, 0, length(values) - 1)

    @property
    def count(self) -> int:
        """The number of values."""
        return self.last - self.first + 1

    @property
    def range(self) -> Range:
        """The smallest and the largest value."""
        return self.values[self.first], self.values[self.last]

    @property
    def chosen(self) -> Values:
        """The values."""
        return self.values[self.first : self.last + 1]


Box = Mapping[str, SizeSpan]


def interval(polynomial: Polynomial, ranges: Mapping[str, Range]) -> Range:
    """Return bounds on a polynomial. They are its minimum and maximum if all its coefficients are positive.

    >>> x_squared_less_3x = Polynomial.of([((("x", 2),), 1), ((("x", 1),), -3)])
    >>> interval(x_squared_less_3x, {"x": (2, 5)})
    (-11, 19)
    """
    low = high = 0
    for monomial, number in polynomial.terms:
        a = b = number
        for name, power in monomial:
            least, most = ranges[name]
            if least >= 0 or power % 2:
                least, most = least**power, most**power
            else:
                least, most = (0 if most >= 0 else most**power), max(least**power, most**power)
            corners = (a * least, a * most, b * least, b * most)
            a, b = min(corners), max(corners)
        low, high = low + a, high + b
    return low, high


@dataclass(frozen=True)
class BoundedTest:
    """A test, as the difference of its sides, with the definitions that it needs."""

    test: Test
    difference: Polynomial  # the right side minus the left side
    definitions: tuple[Definition, ...]
    sizes: frozenset[str]

    def possible(self, ranges: Mapping[str, Range]) -> bool:
        """Return False only if the test fails for all sizes in these ranges."""
        if self.definitions:
            known = dict(ranges)
            for each in self.definitions:
                known[each.name] = range_of(each.function, [interval(one, known) for one in each.arguments])
            ranges = known
        if self.test.how == "divides":
            (a, b), (c, d) = interval(self.test.left, ranges), interval(self.test.right, ranges)
            least = 0 if a <= 0 <= b else min(abs(a), abs(b))
            return (c <= 0 <= d) or least <= max(abs(c), abs(d))
        low, high = interval(self.difference, ranges)
        if self.test.how == "at most":
            return high >= 0
        if self.test.how == "is":
            return low <= 0 <= high
        return not low == high == 0

    def direction(self, name: str) -> int:
        """Return 1 or -1 if the difference never decreases or never increases as a size grows, and otherwise 0."""
        signs, inside = signs_of(self.definitions), sizes_in(self.definitions)
        found = set()
        for monomial, number in self.difference.terms:
            if any(each == name or name in inside.get(each, ()) for each, _ in monomial):
                sign = (number > 0) - (number < 0)
                for each, power in monomial:
                    sign *= signs.get(each, 0 if each.startswith(CALL) else 1) ** power
                found.add(sign)
        return found.pop() if len(found) == 1 else 0


def sizes_in(definitions: Sequence[Definition]) -> dict[str, frozenset[str]]:
    """Return the sizes in each definition, directly or through others."""
    found: dict[str, frozenset[str]] = {}
    for each in definitions:
        names = frozenset(name for argument in each.arguments for name in argument.names)
        found[each.name] = names.union(*(found[name] for name in names if name in found))
    return found


class ConditionBounds:
    """The bounds of all conditions of some programs, over the sizes in them."""

    def __init__(self, programs: Iterable[Program]) -> None:
        self.groups: list[tuple[BoundedTest, ...]] = []  # one of the tests of each group has to hold
        for program in programs:
            for held in program.conditions:
                tests = tuple(_bounded(test, program) for test in held.tests)
                self.groups += [tests] if held.one else [(each,) for each in tests]

    def tests_of(self, name: str) -> list[tuple[BoundedTest, ...]]:
        """Return the tests in which a size occurs."""
        return [group for group in self.groups if any(name in each.sizes for each in group)]

    def narrowed(self, box: Box, rounds: int = ROUNDS) -> dict[str, SizeSpan] | None:
        """Return the box without values that no combination of the others can have, or None if nothing remains."""
        spans = dict(box)
        ranges = {name: span.range for name, span in spans.items()}
        if not all(_possible(group, ranges) for group in self.groups):
            return None
        for _ in range(rounds):
            changed = False
            for name, span in spans.items():
                groups = self.tests_of(name)
                found = self._narrow(name, span, ranges, groups)
                if found is None:
                    return None
                if found != span:
                    changed = changed or found.count * 8 < span.count * 7
                    spans[name], ranges[name] = found, found.range
            if not changed:
                break
        return spans

    def _narrow(
        self, name: str, span: SizeSpan, ranges: Mapping[str, Range], groups: Sequence[tuple[BoundedTest, ...]]
    ) -> SizeSpan | None:
        values, first, last = span.values, span.first, span.last

        def possible(low: int, high: int) -> bool:
            here = {**ranges, name: (values[low], values[high])}
            return all(_possible(group, here) for group in groups)

        if not groups:
            return span
        if not possible(first, last):
            return None
        if not possible(last, last):
            low, high = first, last  # [low, last] is possible and [high, last] is not
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if possible(middle, last) else (low, middle)
            last = low
        if first < last and not possible(first, first):
            low, high = first, last  # [first, low] is not possible and [first, high] is
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if possible(first, middle) else (middle, high)
            first = high
        return SizeSpan(values, first, last)


def _possible(group: tuple[BoundedTest, ...], ranges: Mapping[str, Range]) -> bool:
    return any(each.possible(ranges) for each in group)


def _bounded(test: Test, program: Program) -> BoundedTest:
    names = test.left.names | test.right.names
    definitions = definitions_of(program, names)
    return BoundedTest(test, test.right + -test.left, definitions, program.sizes_of(names))
