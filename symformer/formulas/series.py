"""Series of formulas in powers of 1/size, with the exact remainder."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from sympy import Add, Expr, Integer, Mul, Symbol, cancel, expand, fraction, ilcm

from ..language.errors import SizeError
from ..language.frozen import Immutable
from ..language.notation.text import code
from .asymptotics import in_the_end, one_fraction
from .growth_order import GrowthOrder

MAX_ORDER = 6  # the highest power of 1/size
MAX_PRODUCTS = 1_000  # products of terms for one coefficient
MAX_CANCELLED = 100  # products of terms of a numerator and a denominator whose common factors are searched for

Coefficients = dict[int, Expr]  # the coefficient of each power of the size


@dataclass(frozen=True)
class PowerSeries(Immutable):
    """A formula as a sum of powers of one size, with the remainder: the formula is exactly their sum.

    Parameters
    ----------
    size
        The size that grows.
    order
        The highest power of 1/size among the terms.
    coefficients
        The powers of the size in descending order, each with its coefficient in the other sizes; none is 0.
    whole
        The formula for large sizes, with one argument of each max and min.
    ends
        Whether the remainder is 0 because the formula has no further powers.

    """

    size: Symbol
    order: int
    coefficients: tuple[tuple[int, Expr], ...]
    whole: Expr = field(repr=False)
    ends: bool = False

    @classmethod
    def of(cls, expr: Expr, size: Symbol, order: int = 2, name: str = "the formula") -> PowerSeries:
        """Return the series of a quotient of polynomials. Raises SizeError for another formula.

        With the coefficients a of the numerator and b of the denominator, highest powers first, the coefficients of the
        quotient are n[k]/b[0]**(k + 1), where n[k] = a[k]*b[0]**k - sum(n[j]*b[k - j]*b[0]**(k - 1 - j) for j < k).

        >>> from symformer.language.symbols import E, L, V
        >>> found = PowerSeries.of((12*L*E + V)/(L + 3), L)
        >>> found
        12*E + (V - 36*E)/L + (-3*V + 108*E)/L**2
        >>> found.remainder
        (-324*E + 9*V)/(L**3 + 3*L**2)
        """
        if isinstance(order, bool) or not isinstance(order, int) or not 0 <= order <= MAX_ORDER:
            raise SizeError(f"the order {order} of a series is not an integer from 0 to {MAX_ORDER}")
        if size not in expr.free_symbols:
            raise SizeError(f"{name} does not depend on {size}")
        whole = in_the_end(expr, GrowthOrder.infinite(size), name)
        above, below = one_fraction(whole, name)
        top, bottom = _powers(above, size, name), _powers(below, size, name)
        first, degree = max(top) - max(bottom), max(bottom)
        lead = bottom[degree]
        powers = [Integer(1)]  # of the leading coefficient of the denominator
        numerators: list[Expr] = []
        found: list[tuple[int, Expr]] = []
        for k in range(first + order + 1):
            terms = [(top.get(max(top) - k, Integer(0)), powers[k])]
            terms += [
                (-numerators[j] * powers[k - 1 - j], bottom[degree - (k - j)])
                for j in range(k)
                if degree - (k - j) in bottom
            ]
            if (work := sum(_count(one) * _count(other) for one, other in terms)) > MAX_PRODUCTS:
                raise SizeError(
                    f"the coefficient of {size}**{first - k} in the series of {name} has {work:,} products of terms, "
                    f"more than the limit of {MAX_PRODUCTS:,}; give other sizes as numbers, or ask for fewer terms"
                )
            numerators.append(Add(*(expand(one * other) for one, other in terms)))
            powers.append(expand(powers[-1] * lead))
            if numerators[k] != 0:
                found.append((first - k, _quotient(numerators[k], powers[k + 1])))
        ends = len(bottom) == 1 and min(top) - degree >= -order
        return cls(size, order, tuple(found), whole, ends)

    @property
    def expr(self) -> Expr:
        """The sum without the remainder."""
        return Add(*(each * self.size**power for power, each in self.coefficients))

    @cached_property
    def remainder(self) -> Expr:
        """The rest, exactly: 0, or of the order of 1/size**(order + 1) at most."""
        if self.ends:
            return Integer(0)
        above, below = fraction(self.whole)
        under = [fraction(each)[1] for _, each in self.coefficients]
        if _count(above) * _count(below) * max(map(_count, under), default=1) > MAX_CANCELLED:
            return self.whole - self.expr
        return _quotient(*fraction(cancel(self.whole - self.expr)))

    @property
    def terms(self) -> tuple[Expr, ...]:
        """The terms in descending order of their powers, each as one quotient."""
        found = []
        for power, each in self.coefficients:
            above, below = fraction(each)
            found.append(expand(above * self.size ** max(power, 0)) / expand(below * self.size ** max(-power, 0)))
        return tuple(found)

    def __repr__(self) -> str:
        return " + ".join(map(code, self.terms)).replace("+ -", "- ") or "0"


def _powers(polynomial: Expr, size: Symbol, name: str) -> Coefficients:
    """Return the coefficient of each power of a size. Raises SizeError for a size that is inside ceil, floor, ...."""
    found: dict[int, list[Expr]] = {}
    for term in Add.make_args(polynomial):
        power = term.as_powers_dict().get(size, Integer(0))
        rest = term / size**power
        if not power.is_Integer or size in rest.free_symbols:
            raise SizeError(f"{name} has no series in {size}, which is inside ceil, floor, max or min")
        found.setdefault(int(power), []).append(rest)
    sums = {power: Add(*rests) for power, rests in found.items()}
    return {power: each for power, each in sums.items() if each != 0} or {0: Integer(0)}


def _count(expr: Expr) -> int:
    """Return the number of terms of an expanded sum, or of a product of two."""
    found = 1
    for factor in expr.args if expr.is_Mul else (expr,):
        found *= len(Add.make_args(factor))
    return found


def _quotient(above: Expr, below: Expr) -> Expr:
    """Return a quotient in lowest terms, or without common monomials if it is too long for that."""
    if not isinstance(below, Add):
        return _over_monomial(Add.make_args(expand(above / below)))
    if _count(above) * _count(below) <= MAX_CANCELLED:
        above, below = map(expand, fraction(cancel(above / below)))
    return above / below


def _over_monomial(terms: Iterable[Expr]) -> Expr:
    """Return the sum of terms, each a product of powers of sizes, as one quotient."""
    terms = tuple(terms)
    powers: dict[Expr, Expr] = {}
    for term in terms:
        for base, power in term.as_coeff_Mul()[1].as_powers_dict().items():
            if power.is_negative:
                powers[base] = max(powers.get(base, Integer(0)), -power)
    below = ilcm(1, 1, *(term.as_coeff_Mul()[0].q for term in terms)) * Mul(
        *(base**power for base, power in powers.items())
    )
    return Add(*(term * below for term in terms)) / below
