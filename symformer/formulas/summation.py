"""Sums of formulas over one size that runs through integers, in closed form."""

from __future__ import annotations

from sympy import (
    Add,
    Dummy,
    Expr,
    Integer,
    Max,
    Min,
    Poly,
    Rational,
    Symbol,
    bernoulli,
    binomial,
    ceiling,
    expand,
    floor,
)

from ..language.errors import SizeError
from ..language.notation.text import text

MAX_POWER = 12  # the highest power of the size
MAX_CALLS = 4  # calls of min and max that contain the size


def summed(expr: Expr, size: Symbol, first: Expr, last: Expr, name: str = "the formula") -> Expr:
    """Return the sum over a size from ``first`` to ``last``, both included; it is 0 if ``last`` is ``first - 1``.

    The bounds may contain the size itself, with its value outside of the sum. A min or max that changes its argument
    within the range splits the sum there.

    Raises
    ------
    SizeError
        If the formula is not a polynomial in the size, apart from min and max of terms that are linear in it.

    Examples
    --------
    >>> from symformer.language.symbols import C, C_win, E, L, S
    >>> summed(2*C*E + 1, C, Integer(1), S)
    E*S**2 + E*S + S
    >>> summed(L, L, Integer(1), L)
    L**2/2 + L/2
    >>> summed(Min(C, C_win), C, Integer(1), S).subs({C_win: 3, S: 5})  # 1 + 2 + 3 + 3 + 3
    12

    """
    span = last - first
    if span.is_Integer and span < -1:
        raise SizeError(
            f"the sum of {name} over {size} from {text(first)} to {text(last)} has no terms; give them in order"
        )
    index = Dummy(str(size), integer=True)
    return expand(_sum(expand(expr.xreplace({size: index})), index, first, last, name))


def _sum(expr: Expr, index: Dummy, first: Expr, last: Expr, name: str) -> Expr:
    calls = [each for each in expr.atoms(Min, Max) if index in each.free_symbols]
    inner = [each for each in calls if not any(part.has(*calls) for part in each.args)]
    if len(calls) > MAX_CALLS:
        raise SizeError(
            f"{name} has more than {MAX_CALLS} calls of max and min that contain {index}; it has no short sum"
        )
    if not inner:
        return _of_polynomial(expr, index, first, last, name)
    call = min(inner, key=str)
    one, other = sorted(call.args, key=lambda each: (index not in each.free_symbols, str(each)))[:2]
    slope, constant = _linear(one - other, index, name)
    if slope < 0:
        one, other, slope, constant = other, one, -slope, -constant
    turn = floor(-constant / slope)  # up to this value of the index, one <= other
    rest = [each for each in call.args if each not in (one, other)]
    low, high = (one, other) if isinstance(call, Min) else (other, one)
    split = Min(Max(turn, first - 1), last)
    below, above = (expand(expr.xreplace({call: call.func(winner, *rest)})) for winner in (low, high))
    return _sum(below, index, first, split, name) + _sum(above, index, split + 1, last, name)


def _linear(expr: Expr, index: Dummy, name: str) -> tuple[Expr, Expr]:
    """Return the slope and the constant of a difference that is linear in the index, with a number as its slope."""
    if expr.is_polynomial(index):
        exact = Poly(expr, index)
        slope = exact.coeff_monomial(index)
        if exact.degree() == 1 and slope.is_number:
            return slope, exact.coeff_monomial(1)
    raise SizeError(f"{name} has no closed sum over {index}: it is inside a min or max that is not linear in it")


def _of_polynomial(expr: Expr, index: Dummy, first: Expr, last: Expr, name: str) -> Expr:
    if any(index in each.free_symbols for each in expr.atoms(floor, ceiling)) or not expr.is_polynomial(index):
        raise SizeError(f"{name} has no closed sum over {index}: it is not a polynomial in it")
    if index not in expr.free_symbols:
        return expr * (last - first + 1)
    exact = Poly(expr, index)
    if exact.degree() > MAX_POWER:
        raise SizeError(f"{name} has the power {exact.degree()} of {index}, more than the limit of {MAX_POWER}")
    found = Integer(0)
    for (power,), coefficient in exact.terms():
        found += coefficient * (_powers(power, last) - _powers(power, first - 1))
    return found


def _powers(power: int, last: Expr) -> Expr:
    """Return 1**power + 2**power + … + last**power, by Faulhaber's formula."""
    if power == 0:
        return last
    terms = (
        binomial(power + 1, each) * (Rational(1, 2) if each == 1 else bernoulli(each)) * last ** (power + 1 - each)
        for each in range(power + 1)
    )
    return Add(*terms) / (power + 1)
