"""Bounds on the size of an expression's expanded form, computed before SymPy expands it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from math import comb, lcm
from operator import add, mul

from sympy import Add, Expr, Integer, Max, Min, Mul, Pow, Rational, Symbol, ceiling, floor

MAX_DEGREE = 48
MAX_TERMS = 1_000
MAX_DIGITS = 100
MAX_BELOW = 32  # terms of the common denominator of fractions over sums of sizes
MAX_PAIRS = 256  # pairs of arguments of max and min in total: SymPy compares every pair

CALLS: dict[str, type[Expr]] = {"ceil": ceiling, "floor": floor, "max": Max, "min": Min}

Called = frozenset[tuple[object, int]]  # every distinct call with the number of pairs of its arguments


@dataclass(frozen=True)
class ExpansionBound:
    """An upper bound on an expression's expanded form. The bound of a sum is the sum of the bounds, and so on."""

    degree: int
    terms: int
    above: int  # the sum of the absolute values of its coefficients is at most above/below
    below: int = 1  # every coefficient is an integer multiple of 1/below
    called: Called = frozenset()
    width: int = 1  # the number of arguments of max and min, with directly nested calls flattened

    @classmethod
    def of(cls, expr: Expr, known: Mapping[Symbol, ExpansionBound]) -> ExpansionBound:
        """Return the bound of an expression, with known bounds for some symbols. Raises ValueError: not arithmetic."""
        if isinstance(expr, Rational):
            return cls.number(expr)
        if isinstance(expr, Symbol):
            return known.get(expr, SYMBOL)
        if isinstance(expr, Add | Mul):
            return reduce(add if isinstance(expr, Add) else mul, (cls.of(each, known) for each in expr.args))
        if isinstance(expr, Pow) and isinstance(expr.exp, Integer):
            base = cls.of(expr.base, known)
            return base ** int(expr.exp) if expr.exp > 0 else base.inverse() ** -int(expr.exp)
        if isinstance(expr, ceiling | floor | Max | Min):
            return cls.call(expr, [cls.of(each, known) for each in expr.args])
        raise ValueError(f"{expr} is not arithmetic over whole sizes")

    @classmethod
    def number(cls, value: Rational) -> ExpansionBound:
        """Return the bound of a number, which is exact."""
        return cls(0, 1, abs(int(value.p)), int(value.q))

    @classmethod
    def call(cls, call: object, arguments: list[ExpansionBound]) -> ExpansionBound:
        """Return the bound of a call of ceil, floor, max or min, which may simplify to an argument plus a number."""
        whole = reduce(add, arguments, ExpansionBound(0, 1, 1))
        width = sum(each.width for each in arguments) if len(arguments) > 1 else 1
        return replace(whole, called=whole.called | {(call, width**2)}, width=width)

    def __add__(self, other: ExpansionBound) -> ExpansionBound:
        below = lcm(self.below, other.below)
        above = self.above * (below // self.below) + other.above * (below // other.below)
        terms = self.terms + other.terms
        return ExpansionBound(max(self.degree, other.degree), terms, above, below, self.called | other.called)

    def __mul__(self, other: ExpansionBound) -> ExpansionBound:
        return ExpansionBound(
            self.degree + other.degree,
            self.terms * other.terms,
            self.above * other.above,
            self.below * other.below,
            self.called | other.called,
        )

    def __pow__(self, exponent: int) -> ExpansionBound:
        if exponent > MAX_DEGREE:  # exceeds the degree limit, so the coefficients are not computed
            return ExpansionBound(max(1, self.degree) * exponent, self.terms, self.above, self.below, self.called)
        terms = comb(self.terms + exponent - 1, exponent)
        return ExpansionBound(self.degree * exponent, terms, self.above**exponent, self.below**exponent, self.called)

    def inverse(self) -> ExpansionBound:
        """Return the bound of the reciprocal."""
        if self.degree == 0 and self.terms == 1:
            return ExpansionBound(0, 1, self.below, max(1, self.above), self.called)
        size = max(1, self.above) * self.below
        return ExpansionBound(self.degree, self.terms, size, size, self.called)

    @property
    def excess(self) -> str:
        """The limit that is exceeded, as a phrase for a message; empty if none is."""
        if self.degree > MAX_DEGREE:
            return f"degree {self.degree:,}, more than the limit of {MAX_DEGREE}"
        if self.terms > MAX_TERMS:
            return f"{_count(self.terms)} terms, more than the limit of {MAX_TERMS:,}"
        if max(self.above, self.below) >= 10**MAX_DIGITS:
            return f"coefficients of {digits(max(self.above, self.below)):,} digits, more than the {MAX_DIGITS} allowed"
        if (pairs := sum(each for _, each in self.called)) > MAX_PAIRS:
            return f"{pairs} pairs of arguments of ceil, floor, max and min, more than the limit of {MAX_PAIRS}"
        return ""


SYMBOL = ExpansionBound(1, 1, 1)


@dataclass(frozen=True)
class Quotient:
    """Bounds on the terms in the numerator and denominator of an expression, before it is written as one fraction."""

    above: int
    below: Mapping[Expr, int]  # the sums among the factors of the denominator, with their powers
    terms: Mapping[Expr, int]  # the number of terms of each such factor

    @classmethod
    def of(cls, expr: Expr) -> Quotient:
        """Return the bounds for arithmetic with integer powers; any other expression counts as one term."""
        if isinstance(expr, Add | Mul):
            combine = cls._plus if isinstance(expr, Add) else cls._times
            return reduce(combine, (cls.of(each) for each in expr.args))
        if isinstance(expr, Pow) and isinstance(expr.exp, Integer):
            base, power = cls.of(expr.base), abs(int(expr.exp))
            below = {factor: times * power for factor, times in base.below.items()}
            raised = cls(_of_power(base.above, power), below, base.terms)
            return raised if expr.exp > 0 else raised._inverse(expr.base, base.above, power)
        return cls(1, {}, {})

    def _inverse(self, base: Expr, terms: int, power: int) -> Quotient:
        below = {base: power} if terms > 1 else {}
        return Quotient(self._below, below, {base: terms})

    def _plus(self, other: Quotient) -> Quotient:
        terms = {**self.terms, **other.terms}
        both = {each: max(self.below.get(each, 0), other.below.get(each, 0)) for each in {*self.below, *other.below}}
        above = 0
        for side in (self, other):
            missing = {each: power - side.below.get(each, 0) for each, power in both.items()}
            above += side.above * Quotient(1, missing, terms)._below
        return Quotient(above, both, terms)

    def _times(self, other: Quotient) -> Quotient:
        both = {each: self.below.get(each, 0) + other.below.get(each, 0) for each in {*self.below, *other.below}}
        return Quotient(self.above * other.above, both, {**self.terms, **other.terms})

    @property
    def _below(self) -> int:
        return reduce(mul, (_of_power(self.terms[each], power) for each, power in self.below.items()), 1)

    @property
    def excess(self) -> str:
        """Return a phrase that states which limit is exceeded; empty if none is."""
        if self._below > MAX_BELOW:
            return f"a common denominator of {_count(self._below)} terms, more than the limit of {MAX_BELOW}"
        if (terms := self.above * self._below) > MAX_TERMS:
            return f"{_count(terms)} products of numerator and denominator terms, more than the limit of {MAX_TERMS:,}"
        return ""


def _of_power(terms: int, power: int) -> int:
    """Return the maximum number of terms in a power of a sum with this many terms."""
    return comb(terms + power - 1, power)


def digits(number: int) -> int:
    """Return the number of digits; for about 4,000 and more, where Python refuses to print, it may be one too many."""
    return len(str(abs(number))) if number.bit_length() < 13_000 else number.bit_length() * 30_103 // 100_000 + 1


def _count(number: int) -> str:
    return f"{number:,}" if number < 10**15 else f"more than 10**{digits(number) - 2}"
