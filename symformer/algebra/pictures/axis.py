"""Along an axis: which whole numbers of a size are drawn, and what a formula comes to at each."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import lcm

from sympy import Expr, Rational, Symbol

from ...language.errors import SizeError
from ...language.notation.latex import latex
from ...language.notation.tree import tree
from ...language.sizes import Numbers, put_in
from ...language.symbols import RANK, letter
from ..crossover import Allowed

POINTS = 64  # of a line
USUAL = 4096  # how far a size of the run goes that has no number


def label(size: Symbol) -> str:
    """What stands along the axis: ``layers $L$``."""
    return f"{letter(size).meaning} ${latex(tree(size))}$"


def only(expr: Expr, size: Symbol, numbers: Numbers, what: str) -> Expr:
    """An amount in which all but one size have their numbers. Raises SizeError for those that have none."""
    found = put_in(expr, {name: number for name, number in numbers.items() if name != size})
    if lacking := sorted(found.free_symbols - {size}, key=RANK.__getitem__):
        names = ", ".join(map(str, lacking))
        raise SizeError(f"a plot is of numbers, and {what} needs one for {names}; give each a number of its own")
    return found


def at(expr: Expr, size: Symbol, number: int | Fraction) -> Fraction:
    """What it comes to, exactly. Raises SizeError where it divides by zero."""
    found = expr.xreplace({size: Rational(number)})
    if not isinstance(found, Rational):
        raise SizeError(f"{size} = {number} makes a divisor zero")
    return Fraction(int(found.p), int(found.q))


def along(top: int, allowed: Allowed) -> list[int]:
    """Whole numbers up to one that conditions allow, some of them where they are many."""
    top = top if allowed.high is None else min(top, allowed.high)
    least = lcm(*allowed.multiple_of)
    step = least * max(1, top // (POINTS * least))
    found = [number for number in sorted({1, allowed.low, *range(step, top + 1, step)}) if number in allowed]
    every = allowed.divides and [number for number in range(allowed.low, top + 1) if number in allowed]
    return (every or found) or list(range(1, top + 1, max(1, top // POINTS)))


def furthest(numbers: Iterable[int], least: int = 8) -> int:
    """How far an axis goes so that each of some numbers is well inside."""
    return max([least, *(number * 5 // 4 + 1 for number in numbers)])


def met(expr: Expr, size: Symbol, low: int, high: int) -> Fraction:
    """Between two numbers at which an amount has different signs, where it is 0, nearly: to be drawn, not printed."""
    below, above = Fraction(low), Fraction(high)
    sign = at(expr, size, below) > 0
    for _ in range(40):
        middle = (below + above) / 2
        if (at(expr, size, middle) > 0) == sign:
            below = middle
        else:
            above = middle
    return below


def grouped(number: int) -> str:
    """A number among mathematics."""
    return f"{number:,}".replace(",", "{,}")
