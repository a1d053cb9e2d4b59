"""Execution plan of a program for given arrays, with few operations over the full grid and bounds on every value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .program import Definition, Monomial, Polynomial, Program, ProgramCondition, Range, Test


class PlanNode:
    """A step of the computation."""

    def run(self, values: Mapping[str, Any], do: Any) -> Any:
        """Return the value."""
        raise NotImplementedError

    def within(self, ranges: Mapping[str, Range], seen: list[Range]) -> Range:
        """Return the range of the value, and add the range of every step to ``seen``."""
        found = self._within(ranges, seen)
        seen.append(found)
        return found

    def _within(self, ranges: Mapping[str, Range], seen: list[Range]) -> Range:
        raise NotImplementedError


@dataclass(frozen=True)
class PlanConstant(PlanNode):
    """A number."""

    value: int

    def run(self, values: Mapping[str, Any], do: Any) -> Any:
        return self.value

    def _within(self, ranges: Mapping[str, Range], seen: list[Range]) -> Range:
        return self.value, self.value


@dataclass(frozen=True)
class PlanVariable(PlanNode):
    """A size, or a definition."""

    name: str

    def run(self, values: Mapping[str, Any], do: Any) -> Any:
        return values[self.name]

    def _within(self, ranges: Mapping[str, Range], seen: list[Range]) -> Range:
        return ranges[self.name]


@dataclass(frozen=True)
class PlanSum(PlanNode):
    """A sum of two nodes."""

    left: PlanNode
    right: PlanNode

    def run(self, values: Mapping[str, Any], do: Any) -> Any:
        return do.add(self.left.run(values, do), self.right.run(values, do), made(self.left), made(self.right))

    def _within(self, ranges: Mapping[str, Range], seen: list[Range]) -> Range:
        (a, b), (c, d) = self.left.within(ranges, seen), self.right.within(ranges, seen)
        return a + c, b + d


@dataclass(frozen=True)
class PlanProduct(PlanNode):
    """A product of two nodes."""

    left: PlanNode
    right: PlanNode

    def run(self, values: Mapping[str, Any], do: Any) -> Any:
        return do.multiply(self.left.run(values, do), self.right.run(values, do), made(self.left), made(self.right))

    def _within(self, ranges: Mapping[str, Range], seen: list[Range]) -> Range:
        (a, b), (c, d) = self.left.within(ranges, seen), self.right.within(ranges, seen)
        corners = (a * c, a * d, b * c, b * d)
        return min(corners), max(corners)


def made(node: PlanNode) -> bool:
    """Return True if a node owns its value, which may then be overwritten."""
    return isinstance(node, PlanSum | PlanProduct)


def horner(polynomial: Polynomial, extent: Mapping[str, tuple[int, ...]]) -> PlanNode:
    """Return a polynomial as sums and products, with as few operations over the full grid as possible.

    Arrays along different axes broadcast to a grid. The first size to factor out is the one whose removal leaves the
    fewest elements, so that the full grid needs only one product and one sum for each power of that size.
    """
    known = polynomial.constant
    if known is not None:
        return PlanConstant(known)
    names = sorted(polynomial.names)
    powers = {name: {dict(monomial).get(name, 0) for monomial, _ in polynomial.terms} for name in names}
    whole = count(extent[name] for name in names)

    def cost(name: str) -> tuple[float, int, str]:
        rest = count(extent[other] for other in names if other != name)
        often = sum(1 for monomial, _ in polynomial.terms if dict(monomial).get(name))
        return (len(powers[name] - {0}) * whole + rest * 2 if rest < whole else 3 * whole + rest), -often, name

    chosen = min(names, key=cost)
    by_power: dict[int, list[tuple[Monomial, int]]] = {}
    for monomial, number in polynomial.terms:
        power = dict(monomial).get(chosen, 0)
        by_power.setdefault(power, []).append((tuple(each for each in monomial if each[0] != chosen), number))
    ordered = sorted(by_power, reverse=True)
    found = horner(Polynomial.of(by_power[ordered[0]]), extent)
    for above, below in zip(ordered, [*ordered[1:], 0], strict=True):
        if above > below:
            found = _product(found, _power(PlanVariable(chosen), above - below))
        if below in by_power and below != above:
            found = PlanSum(found, horner(Polynomial.of(by_power[below]), extent))
    return found


def _product(left: PlanNode, right: PlanNode) -> PlanNode:
    return right if left == PlanConstant(1) else PlanProduct(left, right)


def _power(base: PlanNode, exponent: int) -> PlanNode:
    if exponent == 1:
        return base
    half = _power(base, exponent // 2)
    whole = PlanProduct(half, half)
    return PlanProduct(whole, base) if exponent % 2 else whole


def count(shapes: Iterable[tuple[int, ...]]) -> int:
    """Return the number of elements of arrays with these shapes after broadcasting."""
    found: list[int] = []
    for shape in shapes:
        padded = (1,) * (len(found) - len(shape)) + shape
        found = [1] * (len(padded) - len(found)) + found
        found = [max(a, b) for a, b in zip(found, padded, strict=True)]
    product = 1
    for each in found:
        product *= each
    return product


@dataclass(frozen=True)
class ArrayPlan:
    """A program prepared for arrays of given shapes, with bounds on its intermediate values."""

    definitions: tuple[tuple[Definition, tuple[PlanNode, ...]], ...]
    above: PlanNode
    below: PlanNode
    tests: tuple[tuple[ProgramCondition, tuple[tuple[str, PlanNode, PlanNode], ...]], ...]
    ranges: Mapping[str, Range]
    peak: int  # the largest absolute value of any step
    operations: int  # scalar operations, for one piece of the arrays

    @classmethod
    def of(cls, program: Program, shapes: Mapping[str, tuple[int, ...]], ranges: Mapping[str, Range]) -> ArrayPlan:
        """Return the plan for arrays with the given shapes and ranges."""
        extent, known, seen = dict(shapes), dict(ranges), list(ranges.values())
        definitions = []
        for each in program.definitions:
            nodes = tuple(horner(argument, extent) for argument in each.arguments)
            within = [node.within(known, seen) for node in nodes]
            known[each.name] = range_of(each.function, within)
            seen.append(known[each.name])
            extent[each.name] = _joined(extent[name] for argument in each.arguments for name in argument.names)
            definitions.append((each, nodes))
        above = horner(program.value.above, extent)
        below = horner(program.value.denominator, extent)
        above.within(known, seen)
        below.within(known, seen)
        tests = []
        for held in program.conditions:
            nodes_of = tuple(
                (test.how, horner(test.left, extent), horner(test.right, extent))
                for test in held.tests
                if not _always(test, known)
            )
            if held.one and len(nodes_of) < len(held.tests):
                continue  # one of them always holds
            for _, left, right in nodes_of:
                left.within(known, seen)
                right.within(known, seen)
            if nodes_of:
                tests.append((held, nodes_of))
        peak = max(max(abs(low), abs(high)) for low, high in seen)
        every: list[PlanNode] = [above, below]
        every += [node for _, own in definitions for node in own]
        every += [node for _, own in tests for _, left, right in own for node in (left, right)]
        operations = sum(_operations(node, extent) for node in every)
        return cls(tuple(definitions), above, below, tuple(tests), known, peak, operations)

    def defined(self, values: Mapping[str, Any], do: Any) -> dict[str, Any]:
        """Return the values, with the values of the definitions added."""
        found = dict(values)
        for each, nodes in self.definitions:
            arguments = [node.run(found, do) for node in nodes]
            if each.function == "floor":
                if _has_zero(nodes[1].within(self.ranges, [])):
                    arguments[1] = do.nonzero(arguments[1])
                found[each.name] = do.whole(*arguments)
            elif each.function == "sum":
                found[each.name] = arguments[0]
            else:
                first, *others = arguments
                for other in others:
                    first = (do.least if each.function == "min" else do.most)(first, other)
                found[each.name] = first
        return found

    def value(self, values: Mapping[str, Any], do: Any) -> Any:
        """Return the value of the formula, which is correct if its conditions hold."""
        above = self.above.run(values, do)
        if self.below == PlanConstant(1):
            return above
        below = self.below.run(values, do)
        return do.whole(above, do.nonzero(below) if _has_zero(self.below.within(self.ranges, [])) else below)

    def holding(self, values: Mapping[str, Any], do: Any) -> Iterator[tuple[ProgramCondition, Any]]:
        """Yield each condition that may fail, with a mask of where it holds."""
        for held, tests in self.tests:
            found = None
            for how, left, right in tests:
                a, b = left.run(values, do), right.run(values, do)
                if how == "divides":
                    low, high = left.within(self.ranges, [])
                    there = b % do.nonzero(a) == 0 if _has_zero((low, high)) else b % a == 0
                    there = there & (a != 0) if _has_zero((low, high)) else there
                else:
                    there = a <= b if how == "at most" else a == b if how == "is" else a != b
                found = there if found is None else (found | there if held.one else found & there)
            yield held, found


def _operations(node: PlanNode, extent: Mapping[str, tuple[int, ...]]) -> int:
    """Return the number of scalar additions and multiplications of a node."""
    if not isinstance(node, PlanSum | PlanProduct):
        return 0
    own = count(extent[name] for name in _names(node))
    return own + _operations(node.left, extent) + _operations(node.right, extent)


def _names(node: PlanNode) -> frozenset[str]:
    """Return the names in a node."""
    if isinstance(node, PlanSum | PlanProduct):
        return _names(node.left) | _names(node.right)
    return frozenset([node.name]) if isinstance(node, PlanVariable) else frozenset()


def _joined(shapes: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    found: tuple[int, ...] = ()
    for shape in shapes:
        longer = max(len(found), len(shape))
        a, b = (1,) * (longer - len(found)) + found, (1,) * (longer - len(shape)) + shape
        found = tuple(max(m, n) for m, n in zip(a, b, strict=True))
    return found


def range_of(function: str, within: list[Range]) -> Range:
    if function == "sum":
        return within[0]
    if function == "min":
        return min(low for low, _ in within), min(high for _, high in within)
    if function == "max":
        return max(low for low, _ in within), max(high for _, high in within)
    (a, b), (c, d) = within
    below = [each for each in (c, d, -1, 1) if each and c <= each <= d] or [1]
    corners = [above // each for above in (a, b) for each in below]
    return min(corners), max(corners)


def _has_zero(found: Range) -> bool:
    return found[0] <= 0 <= found[1]


def _always(test: Test, ranges: Mapping[str, Range]) -> bool:
    """Return True if a test holds for all values in their ranges."""
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(ranges, ())
    (a, b), (c, d) = (horner(side, shapes).within(ranges, []) for side in (test.left, test.right))
    match test.how:
        case "at most":
            return b <= c
        case "is not":
            return b < c or d < a
        case "is":
            return a == b == c == d
    return (a == b and c == d and a != 0 and c % a == 0) or (a, b) == (1, 1)
