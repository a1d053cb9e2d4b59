"""Dimensions that code rounds to whole blocks, such as a vocabulary padded to a multiple of 64.

Such a dimension is a staircase with steps of equal height and width. The positions of two steps determine it, and
further steps and random positions must confirm it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from sympy import Expr, Symbol, ceiling, floor

WIDEST = 1024  # largest width of a step
CONFIRMING = (2, 3, 5, 8, 13)  # steps to check on both sides
RANDOM = 16  # further positions to check

Number = Callable[[int], int | None]  # the measurement at a size, or None if the code rejects it


def find_staircase(measure: Number, first: int, letter: Symbol, seed: int = 0) -> Expr | None:
    """Return the staircase that matches ``measure`` for sizes from ``first``, or None if it is not a staircase.

    >>> from symformer.language.symbols import V
    >>> find_staircase(lambda size: -(-size // 64) * 64 + 1, 1000, V)
    64*ceiling(V/64) + 1
    """
    one = _step(measure, first)
    two = _step(measure, one) if one else None
    if one is None or two is None:
        return None
    wide, before, after = two - one, measure(one), measure(two)
    if before is None or after is None or wide < 2:
        return None
    high, more = after - before, -one % wide
    constant = before - high * ((one + more) // wide)
    random = Random(seed)
    edges = [one + side * times * wide - short for times in CONFIRMING for side in (1, -1) for short in (0, 1)]
    anywhere = [random.randint(first // 4 + 1, 3 * first) for _ in range(RANDOM)]
    for size in (first, *edges, *anywhere):
        if size > first // 4 and (seen := measure(size)) is not None:
            if seen != high * ((size + more) // wide) + constant:
                return None
        elif size > first // 4:
            return None
    steps = ceiling(letter / wide) if more == wide - 1 else floor((letter + more) / wide)
    return high * steps + constant


def _step(measure: Number, size: int) -> int | None:
    """Return the first larger size at which the measurement changes."""
    here, low, far = measure(size), size, 1
    while far <= 2 * WIDEST:
        there = measure(size + far)
        if there is None:
            return None
        if there != here:
            break
        low, far = size + far, 2 * far
    else:
        return None
    high = size + far
    while high - low > 1:
        middle = (low + high) // 2
        if (seen := measure(middle)) is None:
            return None
        low, high = (middle, high) if seen == here else (low, middle)
    return high


def step_positions(rounded: Expr, letter: Symbol) -> Iterator[tuple[int, int]]:
    """Yield the width of each step function of one size in an expression, and the position of its first step."""
    for each in rounded.atoms(floor, ceiling):
        inner = each.args[0]
        slope = inner.coeff(letter)
        if each.free_symbols == {letter} and slope.is_Rational and slope.p == 1 and slope.q > 1:
            start = inner.subs(letter, 0) * slope.q
            yield int(slope.q), int(-start if isinstance(each, floor) else 1 - start) % int(slope.q)
