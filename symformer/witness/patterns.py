"""Layers of a kind that come in a pattern: how many there are at any depth, from those at depths in a row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from sympy import Expr, Integer, Symbol, floor

LONGEST = 12  # layers of a pattern that is looked for; seen twice, so that it is one
ROW = range(2 * LONGEST + 1)  # how many layers more


def in_pattern(counts: Sequence[int], first: int, depth: Symbol) -> Expr | None:
    """How many there are at any depth, from those at ``first`` layers, one more and so on; None without a pattern.

    >>> from symformer.language.symbols import L
    >>> in_pattern([1, 2, 2, 3, 3, 4, 4], 3, L)  # every other one, from the second on
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
        # of the layers from ``first`` on, those at this place of the pattern, each as many more than the usual
        above = first + place - period + 1
        more = -above % period
        found += (step - usual) * (floor((depth + more) / period) - (above + more) // period)
    return found
