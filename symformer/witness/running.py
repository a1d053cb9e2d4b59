"""The measures of a trace: what a session of somebody's model says at each point that it is asked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn

from .fitting import Point
from .session import Session
from .tracing import Measure, Rows

Build = Callable[[Point], nn.Module]
Call = Callable[[nn.Module, Point], Any]  # runs a model on inputs of a point's sizes, and gives its output


def session(build: Build, point: Point) -> Session:
    """The session of a build at a point."""
    return Session(lambda: build(point))


def stored(build: Build) -> Measure:
    """The measure of a build: the shape of every unique parameter, by its path."""
    return lambda point: session(build, point).stored()


def products(build: Build, call: Call, backward: bool = False) -> Measure:
    """The measure of a run: every matrix product, forward or both ways, by the path of the module it ran in."""

    def rows(point: Point) -> Rows:
        return session(build, point).products(lambda model: call(model, point), backward=backward).tally.rows

    return rows


def counted(build: Build, call: Call, backward: bool = False) -> Callable[[Point], int]:
    """What torch's FlopCounterMode says of the same run."""

    def total(point: Point) -> int:
        counter = session(build, point).flops(lambda model: call(model, point), backward=backward)
        return int(counter.get_total_flops())

    return total


def dispatched(build: Build, call: Call, point: Point) -> int:
    """How many operations of any kind a run has."""
    return session(build, point).operations(lambda model: call(model, point))


def kept(build: Build, call: Call) -> Measure:
    """The measure of what autograd keeps of a forward pass, weights left out: each storage where it is first kept."""
    return lambda point: session(build, point).kept(lambda model: call(model, point)).tally.rows


def cached(build: Build, call: Call) -> Measure:
    """The measure of the cache that a model fills by itself: the shape of each of its tensors."""
    return lambda point: session(build, point).cached(lambda model: call(model, point))
