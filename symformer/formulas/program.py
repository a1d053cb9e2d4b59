"""A formula as a program over whole numbers: polynomials, whole quotients, least and most, and when they hold.

It knows neither SymPy nor any library of arrays: it can be sent to another machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import gcd, lcm, prod
from typing import Any

Monomial = tuple[tuple[str, int], ...]  # sizes and names of definitions, each with its power, in the order of names
Range = tuple[int, int]  # the least and the most that something can be
ONE: Monomial = ()


@dataclass(frozen=True)
class Polynomial:
    """A sum of products with whole coefficients, none of them 0."""

    terms: tuple[tuple[Monomial, int], ...] = ()

    @classmethod
    def of(cls, terms: Iterable[tuple[Monomial, int]]) -> Polynomial:
        """Of terms that may be alike."""
        found: dict[Monomial, int] = {}
        for monomial, number in terms:
            found[monomial] = found.get(monomial, 0) + number
        return cls(tuple(sorted((each, number) for each, number in found.items() if number)))

    @classmethod
    def number(cls, value: int) -> Polynomial:
        """A number alone."""
        return cls.of([(ONE, value)])

    @classmethod
    def name(cls, name: str) -> Polynomial:
        """A size alone."""
        return cls((((((name, 1)),), 1),))

    @property
    def constant(self) -> int | None:
        """The number that it is, where it has no size."""
        if not self.terms:
            return 0
        return self.terms[0][1] if len(self.terms) == 1 and self.terms[0][0] == ONE else None

    @property
    def names(self) -> frozenset[str]:
        """What has to have a number."""
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
        """With numbers for some sizes."""
        terms = []
        for monomial, number in self.terms:
            known = prod(numbers[name] ** power for name, power in monomial if name in numbers)
            terms.append((tuple(each for each in monomial if each[0] not in numbers), known * number))
        return Polynomial.of(terms)


def times(a: Monomial, b: Monomial, sign: int = 1) -> Monomial:
    """A product of two monomials, or their quotient."""
    found = dict(a)
    for name, power in b:
        found[name] = found.get(name, 0) + sign * power
    return tuple(sorted((name, power) for name, power in found.items() if power))


@dataclass(frozen=True)
class Fraction:
    """A polynomial over a number and a monomial: every quotient there is, with what sums there are below named."""

    above: Polynomial
    number: int = 1
    below: Monomial = ONE

    @property
    def denominator(self) -> Polynomial:
        """What stands below."""
        return Polynomial.of([(self.below, self.number)])

    def over(self, number: int, below: Monomial) -> Polynomial:
        """What stands above, once a multiple of what stands below does."""
        return self.above * Polynomial.of([(times(below, self.below, -1), number // self.number)])

    def __mul__(self, other: Fraction) -> Fraction:
        return Fraction(self.above * other.above, self.number * other.number, times(self.below, other.below)).lowest()

    def lowest(self) -> Fraction:
        """Without the powers and the whole number that every term has as what stands below has."""
        if not self.above.terms:
            return Fraction(self.above)
        common = gcd(self.number, *(number for _, number in self.above.terms))
        powers = {
            name: min(power, *(dict(monomial).get(name, 0) for monomial, _ in self.above.terms))
            for name, power in self.below
            if not name.startswith(CALL)  # which may be 0
        }
        shared: Monomial = tuple(sorted((name, power) for name, power in powers.items() if power))
        above = Polynomial.of((times(monomial, shared, -1), number // common) for monomial, number in self.above.terms)
        return Fraction(above, self.number // common, times(self.below, shared, -1))


def together(fractions: Iterable[Fraction]) -> tuple[tuple[Polynomial, ...], int, Monomial]:
    """What stands above each, over one denominator for all of them."""
    each = list(fractions)
    number = lcm(*(one.number for one in each))
    below: dict[str, int] = {}
    for one in each:
        for name, power in one.below:
            below[name] = max(below.get(name, 0), power)
    monomial: Monomial = tuple(sorted(below.items()))
    return tuple(one.over(number, monomial) for one in each), number, monomial


CALL = "#"  # what the name of a definition begins with, and no size's


@dataclass(frozen=True)
class Definition:
    """What stands for the whole part of a quotient, for the least or the most of several, or for a sum."""

    name: str
    function: str  # "floor" of the first over the second, "min", "max", "sum" of one
    arguments: tuple[Polynomial, ...]

    def at(self, numbers: Mapping[str, int]) -> Definition:
        """With numbers for some sizes."""
        return replace(self, arguments=tuple(each.at(numbers) for each in self.arguments))

    @property
    def value(self) -> int | None:
        """The number that it is, where it has no size."""
        known = [each.constant for each in self.arguments]
        if any(each is None for each in known) or (self.function == "floor" and known[1] == 0):
            return None
        return int(CALLED[self.function](*known))


CALLED: dict[str, Any] = {"floor": lambda a, b: a // b, "min": min, "max": max, "sum": lambda a: a}


@dataclass(frozen=True)
class Test:
    """How two polynomials are to one another."""

    how: str  # "divides", "at most", "is", "is not"
    left: Polynomial
    right: Polynomial


@dataclass(frozen=True)
class Held:
    """A condition: all of its tests hold, or one of them at least."""

    said: str
    tests: tuple[Test, ...]
    one: bool = False
    sizes: tuple[str, ...] = ()  # what it is about, those too that numbers were put in for

    @property
    def names(self) -> frozenset[str]:
        """What it is about."""
        return frozenset(name for test in self.tests for side in (test.left, test.right) for name in side.names)


@dataclass(frozen=True)
class Program:
    """A fraction of polynomials over sizes and definitions, and the conditions under which its value is right."""

    value: Fraction
    definitions: tuple[Definition, ...] = ()
    conditions: tuple[Held, ...] = ()

    def at(self, numbers: Mapping[str, int]) -> Program:
        """With numbers for some sizes."""
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
        return Program(Fraction(value.above.at(known), number, below), tuple(definitions), held)

    def sizes_of(self, names: Iterable[str]) -> frozenset[str]:
        """The sizes that are meant by names, of definitions too."""
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
        """Without the conditions about sizes that have no number."""
        kept = tuple(each for each in self.conditions if self.sizes_of(each.names) <= known)
        return replace(self, conditions=kept)
