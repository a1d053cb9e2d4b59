"""A model of a trace, run at a point and looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sympy import Symbol

from ..fitting import Point
from ..points import Build, session
from ..results import Trace
from ..roles import Roles
from .sights import Sight, Trained


@dataclass(frozen=True)
class Calls:
    """How the model of a trace is called."""

    build: Build
    call: Callable[..., Any]  # without a cache
    cached: Callable[..., Any] | None  # on C tokens, which a cache keeps; None where none is kept


def numbers_at(point: Point, letters: Mapping[str, Symbol]) -> dict[Symbol, int]:
    """The sizes of a point that have letters."""
    return {letters[name]: value for name, value in point.items() if name in letters}


def tied(trace: Trace, point: Point) -> dict[str, int]:
    """A point at which every size that follows others does."""
    return {**point, **{name: tie.at(point) for name, tie in trace.ties.items()}}


def sight_at(calls: Calls, point: Point, letters: Mapping[str, Symbol]) -> Sight:
    """A run on shapes alone."""
    at = session(calls.build, point)
    seen = Roles(at.model(), {})
    at.run(lambda model: calls.call(model, point), seen)
    return Sight(seen, numbers_at(point, letters))


def trained_at(calls: Calls, point: Point, letters: Mapping[str, Symbol]) -> Trained | None:
    """A run with its backward pass, on shapes alone; None where it cannot be trained so."""
    at = session(calls.build, point)
    try:
        seen = at.products(lambda model: calls.call(model, point), backward=True)
    except KeyboardInterrupt:
        raise
    except BaseException:  # whatever somebody's code raises: then its training FLOPs are refused anyway
        return None
    return Trained(seen, numbers_at(point, letters))
