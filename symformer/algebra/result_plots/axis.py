"""Points along the x-axis of a plot: the integers of a size, and the exact value of a formula at each."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import lcm

from sympy import Expr, Rational, Symbol

from ...language.errors import SizeError, needs_values
from ...language.notation.latex import latex
from ...language.sizes import Numbers, substitute
from ...language.symbols import letter, print_order
from ..crossover import AllowedValues

POINTS = 64  # points per line
USUAL = 4096  # end of the axis for a size of the run without a number


def label(size: Symbol) -> str:
    """Return the label of an axis: ``layers $L$``."""
    return f"{letter(size).meaning} ${latex(size)}$"


def only(expr: Expr, size: Symbol, numbers: Numbers, what: str) -> Expr:
    """Substitute the numbers of all sizes but one. Raises SizeError if a number is missing."""
    found = substitute(expr, {name: number for name, number in numbers.items() if name != size})
    if lacking := sorted(found.free_symbols - {size}, key=print_order):
        raise SizeError(needs_values(f"a plot of {what}", lacking))
    return found


def value_at(expr: Expr, size: Symbol, number: int | Fraction) -> Fraction:
    """Return the exact value of an expression at a number. Raises SizeError if it divides by zero."""
    found = expr.xreplace({size: Rational(number)})
    if not isinstance(found, Rational):
        raise SizeError(f"{size} = {number} makes a divisor zero")
    return Fraction(int(found.p), int(found.q))


def points_along(top: int, allowed: AllowedValues) -> list[int]:
    """Return the integers up to a limit that the conditions allow, or a selection if there are many."""
    top = top if allowed.high is None else min(top, allowed.high)
    least = lcm(*allowed.multiple_of)
    step = least * max(1, top // (POINTS * least))
    found = [number for number in sorted({1, allowed.low, *range(step, top + 1, step)}) if number in allowed]
    every = allowed.divides and [number for number in range(allowed.low, top + 1) if number in allowed]
    return (every or found) or list(range(1, top + 1, max(1, top // POINTS)))


def axis_end(numbers: Iterable[int], least: int = 8) -> int:
    """Return the end of an axis that contains some numbers with a margin."""
    return max([least, *(number * 5 // 4 + 1 for number in numbers)])


def crossing_point(expr: Expr, size: Symbol, low: int, high: int) -> Fraction:
    """Return an approximate root between two numbers with different signs, for drawing only."""
    below, above = Fraction(low), Fraction(high)
    sign = value_at(expr, size, below) > 0
    for _ in range(40):
        middle = (below + above) / 2
        if (value_at(expr, size, middle) > 0) == sign:
            below = middle
        else:
            above = middle
    return below


def grouped(number: int) -> str:
    """Return a number with thousands separators, for LaTeX mathematics."""
    return f"{number:,}".replace(",", "{,}")
