"""PowerSeries of formulas in powers of 1/size, with the exact remainder."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Add, Expr, Integer, Mul, Symbol, cancel, expand, fraction

from ..language.errors import SizeError
from ..language.frozen import Immutable
from ..language.notation.text import code
from .asymptotics import MAX_CANCELLED, in_the_end, one_fraction
from .growth_order import GrowthOrder

MAX_ORDER = 6  # the highest power of 1/size


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
    remainder
        The rest, exactly. It is 0, or of the order of 1/size**(order + 1) at most.

    """

    size: Symbol
    order: int
    coefficients: tuple[tuple[int, Expr], ...]
    remainder: Expr

    @classmethod
    def of(cls, expr: Expr, size: Symbol, order: int = 2, name: str = "the formula") -> PowerSeries:
        """Return the series of a quotient of polynomials. Raises SizeError for another formula.

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
        above, below = one_fraction(in_the_end(expr, GrowthOrder.infinite(size), name), name)
        top, bottom = _powers(above, size, name), _powers(below, size, name)
        if len(Add.make_args(above)) * len(Add.make_args(below)) > MAX_CANCELLED**2:
            raise SizeError(f"{name} is too long for a series in {size}; give other sizes as numbers first")
        degree, lead = max(bottom), bottom[max(bottom)]
        found: list[tuple[int, Expr]] = []
        rest = dict(top)
        for power in range(max(top) - degree, -order - 1, -1):
            first = rest.get(power + degree, Integer(0))
            if first == 0:
                continue
            each = _lowest(first, lead)
            found.append((power, each))
            for place, coefficient in bottom.items():
                left = _together(rest.get(place + power, Integer(0)) - each * coefficient)
                rest[place + power] = left
        remainder = Add(*(each * size**power for power, each in rest.items() if each != 0))
        return cls(size, order, tuple(found), _quotient(remainder, below))

    @property
    def expr(self) -> Expr:
        """The sum without the remainder."""
        return Add(*(each * self.size**power for power, each in self.coefficients))

    @property
    def terms(self) -> tuple[Expr, ...]:
        """The terms in descending order of their powers, each as one quotient."""
        return tuple(
            _quotient(each * self.size ** max(power, 0), self.size ** max(-power, 0))
            for power, each in self.coefficients
        )

    def __repr__(self) -> str:
        return " + ".join(map(code, self.terms)).replace("+ -", "- ") or "0"


def _powers(polynomial: Expr, size: Symbol, name: str) -> dict[int, Expr]:
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


def _together(expr: Expr) -> Expr:
    above, below = one_fraction(expr, "a coefficient of the series")
    return _lowest(above, below)


def _lowest(above: Expr, below: Expr) -> Expr:
    over, under = map(expand, fraction(cancel(above / below)))
    return over / under if isinstance(under, Add) else expand(over / under)


def _quotient(above: Expr, below: Expr) -> Expr:
    if len(Add.make_args(above)) * len(Add.make_args(below)) > MAX_CANCELLED:  # else cancelling can take minutes
        return above / below
    over, under = map(expand, fraction(cancel(above / below)))
    return Mul(over, 1 / under, evaluate=True)
