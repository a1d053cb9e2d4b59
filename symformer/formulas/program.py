"""Programs over integers: polynomials, floors of quotients, minima, maxima, and conditions.

A program depends neither on SymPy nor on an array library, so it can be sent to another machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import gcd, lcm, prod
from typing import Any

Monomial = tuple[tuple[str, int], ...]  # sizes and names of definitions with their powers, sorted by name
Range = tuple[int, int]  # minimum and maximum
ONE: Monomial = ()


@dataclass(frozen=True)
class Polynomial:
    """A sum of products with nonzero integer coefficients."""

    terms: tuple[tuple[Monomial, int], ...] = ()

    @classmethod
    def of(cls, terms: Iterable[tuple[Monomial, int]]) -> Polynomial:
        """Return the sum of terms, combining like terms."""
        found: dict[Monomial, int] = {}
        for monomial, number in terms:
            found[monomial] = found.get(monomial, 0) + number
        return cls(tuple(sorted((each, number) for each, number in found.items() if number)))

    @classmethod
    def number(cls, value: int) -> Polynomial:
        """Return a constant polynomial."""
        return cls.of([(ONE, value)])

    @classmethod
    def name(cls, name: str) -> Polynomial:
        """Return the polynomial of a single name."""
        return cls((((((name, 1)),), 1),))

    @property
    def constant(self) -> int | None:
        """The value if it contains no sizes, else None."""
        if not self.terms:
            return 0
        return self.terms[0][1] if len(self.terms) == 1 and self.terms[0][0] == ONE else None

    @property
    def names(self) -> frozenset[str]:
        """The names that need values."""
        return frozenset(name for monomial, _ in self.terms for name, _ in monomial)

    def __add__(self, other: Polynomial) -> Polynomial:
        return Polynomial.of((*self.terms, *other.terms))

    def __neg__(self) -> Polynomial:
        return Polynomial(tuple((monomial, -number) for monomial, number in self.terms))

    def __mul__(self, other: Polynomial) -> Polynomial:
        return Polynomial.of((times(a, b), m * n) for a, m in self.terms for b, n in other.terms)

    def __pow__(self, exponent: int) -> Polynomial:
        found = Polynomial.number(1)
        for _ in range(exponent):
            found *= self
        return found

    def at(self, numbers: Mapping[str, int]) -> Polynomial:
        """Return the same with values substituted for some sizes."""
        terms = []
        for monomial, number in self.terms:
            known = prod(numbers[name] ** power for name, power in monomial if name in numbers)
            terms.append((tuple(each for each in monomial if each[0] not in numbers), known * number))
        return Polynomial.of(terms)


def times(a: Monomial, b: Monomial, sign: int = 1) -> Monomial:
    """Return the product of two monomials, or their quotient for ``sign=-1``."""
    found = dict(a)
    for name, power in b:
        found[name] = found.get(name, 0) + sign * power
    return tuple(sorted((name, power) for name, power in found.items() if power))


@dataclass(frozen=True)
class RationalFunction:
    """A polynomial over an integer and a monomial; sums in denominators are replaced by definitions."""

    above: Polynomial
    number: int = 1
    below: Monomial = ONE

    @property
    def denominator(self) -> Polynomial:
        """The denominator as a polynomial."""
        return Polynomial.of([(self.below, self.number)])

    def over(self, number: int, below: Monomial) -> Polynomial:
        """Return the numerator after extending the denominator to a multiple of it."""
        return self.above * Polynomial.of([(times(below, self.below, -1), number // self.number)])

    def __mul__(self, other: RationalFunction) -> RationalFunction:
        return RationalFunction(
            self.above * other.above, self.number * other.number, times(self.below, other.below)
        ).lowest()

    def lowest(self) -> RationalFunction:
        """Return the fraction without the powers and the integer factor common to numerator and denominator."""
        if not self.above.terms:
            return RationalFunction(self.above)
        common = gcd(self.number, *(number for _, number in self.above.terms))
        powers = {
            name: min(power, *(dict(monomial).get(name, 0) for monomial, _ in self.above.terms))
            for name, power in self.below
            if not name.startswith(CALL)  # definitions may be 0
        }
        shared: Monomial = tuple(sorted((name, power) for name, power in powers.items() if power))
        above = Polynomial.of((times(monomial, shared, -1), number // common) for monomial, number in self.above.terms)
        return RationalFunction(above, self.number // common, times(self.below, shared, -1))


def together(fractions: Iterable[RationalFunction]) -> tuple[tuple[Polynomial, ...], int, Monomial]:
    """Return the numerators of fractions over a common denominator, and that denominator."""
    each = list(fractions)
    number = lcm(*(one.number for one in each))
    below: dict[str, int] = {}
    for one in each:
        for name, power in one.below:
            below[name] = max(below.get(name, 0), power)
    monomial: Monomial = tuple(sorted(below.items()))
    return tuple(one.over(number, monomial) for one in each), number, monomial


CALL = "#"  # prefix of the names of definitions, which no size has


@dataclass(frozen=True)
class Definition:
    """A named subexpression: the floor of a quotient, a minimum, a maximum, or a sum."""

    name: str
    function: str  # "floor" of the first over the second, "min", "max", "sum" of one
    arguments: tuple[Polynomial, ...]

    def at(self, numbers: Mapping[str, int]) -> Definition:
        """Return the same with values substituted for some sizes."""
        return replace(self, arguments=tuple(each.at(numbers) for each in self.arguments))

    @property
    def value(self) -> int | None:
        """The value if it contains no sizes, else None."""
        known = [each.constant for each in self.arguments]
        if any(each is None for each in known) or (self.function == "floor" and known[1] == 0):
            return None
        return int(CALLED[self.function](*known))


CALLED: dict[str, Any] = {"floor": lambda a, b: a // b, "min": min, "max": max, "sum": lambda a: a}


@dataclass(frozen=True)
class Test:
    """A comparison of two polynomials."""

    how: str  # "divides", "at most", "is", "is not"
    left: Polynomial
    right: Polynomial


@dataclass(frozen=True)
class ProgramCondition:
    """A condition: all of its tests hold, or at least one."""

    said: str
    tests: tuple[Test, ...]
    one: bool = False
    sizes: tuple[str, ...] = ()  # the sizes in it, including substituted ones

    @property
    def names(self) -> frozenset[str]:
        """The names in the condition."""
        return frozenset(name for test in self.tests for side in (test.left, test.right) for name in side.names)


@dataclass(frozen=True)
class Program:
    """A fraction of polynomials over sizes and definitions, and the conditions under which its value is correct."""

    value: RationalFunction
    definitions: tuple[Definition, ...] = ()
    conditions: tuple[ProgramCondition, ...] = ()

    def at(self, numbers: Mapping[str, int]) -> Program:
        """Return the same with values substituted for some sizes."""
        known = dict(numbers)
        definitions = []
        for each in self.definitions:
            there = each.at(known)
            if (found := there.value) is not None:
                known[each.name] = found
            else:
                definitions.append(there)
        value = self.value
        number = value.number
        for name, power in value.below:
            number *= known.get(name, 1) ** power
        below = tuple(each for each in value.below if each[0] not in known)
        held = tuple(
            replace(each, tests=tuple(Test(test.how, test.left.at(known), test.right.at(known)) for test in each.tests))
            for each in self.conditions
        )
        if number < 0:  # a definition may be negative
            value, number = replace(value, above=-value.above), -number
        return Program(RationalFunction(value.above.at(known), number, below), tuple(definitions), held)

    def sizes_of(self, names: Iterable[str]) -> frozenset[str]:
        """Return the sizes that names refer to, directly or through definitions."""
        found, calls = set[str](), {each.name: each for each in self.definitions}
        waiting = [*names]
        while waiting:
            name = waiting.pop()
            if name in calls:
                waiting += [other for each in calls[name].arguments for other in each.names]
            else:
                found.add(name)
        return frozenset(found)

    def concerned(self, known: frozenset[str]) -> Program:
        """Return the program without the conditions on sizes that have no value."""
        kept = tuple(each for each in self.conditions if self.sizes_of(each.names) <= known)
        return replace(self, conditions=kept)
