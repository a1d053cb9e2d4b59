"""Cases of a test that pytest runs only with ``-m exhaustive``, as .ci/exhaustive does."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def sampled(step: int, cases: Iterable[Any], also: Callable[[Any], bool] = lambda case: False) -> list[Any]:
    """Mark all cases as exhaustive except every ``step``-th, from the first, and those for which ``also`` is true.

    >>> [getattr(case, "values", case) for case in sampled(2, "abc")]
    ['a', ('b',), 'c']
    """
    found = []
    for place, case in enumerate(cases):
        if place % step == 0 or also(case):
            found.append(case)
        else:
            values = case if isinstance(case, tuple) else (case,)
            found.append(pytest.param(*values, marks=pytest.mark.exhaustive))
    return found
