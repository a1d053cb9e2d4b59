"""Layers in a repeating pattern: their number at any depth, from the numbers at consecutive depths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from sympy import Expr, Integer, Symbol, floor

LONGEST = 12  # layers in the longest pattern to find; it must occur twice
ROW = range(2 * LONGEST + 1)  # additional layers to build


def layers_at_depth(counts: Sequence[int], first: int, depth: Symbol) -> Expr | None:
    """Return the number of layers at any depth, from the numbers at consecutive depths starting at ``first``.

    Returns None if there is no pattern.

    >>> from symformer.language.symbols import L
    >>> layers_at_depth([1, 2, 2, 3, 3, 4, 4], 3, L)  # every other one, from the second on
    floor(L/2)
    """
    steps = [after - before for before, after in pairwise(counts)]
    period = next((n for n in range(1, len(steps) // 2 + 1) if steps[n:] == steps[:-n]), 0)
    if not period:
        return None
    often = Counter(steps[:period])
    usual = max(often, key=lambda step: (often[step], -step))
    found = Integer(counts[0]) + usual * (depth - first)
    for place, step in enumerate(steps[:period]):
        # of the layers after ``first``, those at this position of the pattern, relative to the usual step
        above = first + place - period + 1
        more = -above % period
        found += (step - usual) * (floor((depth + more) / period) - (above + more) // period)
    return found
