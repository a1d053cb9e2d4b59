"""Observed runs of a traced model at a point."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sympy import Symbol

from ..dataflow_roles import Roles
from ..interpolation import Point
from ..measured_points import Build, session
from ..trace_result import Trace
from .observations import Observation, Trained


@dataclass(frozen=True)
class Calls:
    """The ways to call the model of a trace."""

    build: Build
    call: Callable[..., Any]  # without a cache
    cached: Callable[..., Any] | None  # on C tokens, which are cached; None if the model has no cache


def numbers_at(point: Point, letters: Mapping[str, Symbol]) -> dict[Symbol, int]:
    """Return the sizes of a point that have letters."""
    return {letters[name]: value for name, value in point.items() if name in letters}


def with_dependent_sizes(trace: Trace, point: Point) -> dict[str, int]:
    """Return a point with every dependent size set from the sizes that it depends on."""
    return {**point, **{name: tie.at(point) for name, tie in trace.ties.items()}}


def sight_at(calls: Calls, point: Point, letters: Mapping[str, Symbol]) -> Observation:
    """Return a run on shapes alone."""
    at = session(calls.build, point)
    seen = Roles(at.model(), {})
    at.run(lambda model: calls.call(model, point), seen)
    return Observation(seen, numbers_at(point, letters))


def trained_at(calls: Calls, point: Point, letters: Mapping[str, Symbol]) -> Trained | None:
    """Return a run with its backward pass on shapes alone, or None if the model cannot be trained this way."""
    at = session(calls.build, point)
    try:
        seen = at.products(lambda model: calls.call(model, point), backward=True)
    except KeyboardInterrupt:
        raise
    except BaseException:  # any error of the traced code: its training FLOPs are refused in any case
        return None
    return Trained(seen, numbers_at(point, letters))
