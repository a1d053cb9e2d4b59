"""One model at many points, and what torch says of it at each: asked once, for every quantity that wants to know.

A session is made for each run and dropped after it, as code may change its own model while it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack, nullcontext, suppress
from enum import Enum, auto
from functools import partial
from typing import Any

from torch import nn

from .fitting import Point
from .session import Session
from .watching import Products, Remembering, Rows, keeping

Build = Callable[[Point], nn.Module]
Call = Callable[[nn.Module, Point], Any]  # runs a model on inputs of a point's sizes, and gives its output
Frozen = tuple[tuple[str, int], ...]


AGAIN = 2  # points at which a run that stood for another is held to it again: one may be alike by chance


class Told(Enum):
    """What a run tells."""

    FORWARD = auto()  # the products of a forward pass that nobody trains
    TRAINED = auto()  # the products of a forward and a backward pass
    WHILE_TRAINED = auto()  # the products of the forward pass among these
    KEPT = auto()  # what autograd keeps, on the meta device
    REALLY_KEPT = auto()  # what it keeps where there is a CPU, whose kernels may keep other things
    CACHED = auto()  # the cache that a model fills by itself


def session(build: Build, point: Point) -> Session:
    """The session of a build at a point."""
    return Session(lambda: build(point))


def weights_at(build: Build) -> Callable[[Point], Rows]:
    """What a build stores at a point: the shape of every unique parameter, by its path."""
    return lambda point: session(build, point).stored()


class Points:
    """One model, called in one way, at many points. A run is watched for all that it can tell."""

    def __init__(self, build: Build, call: Call) -> None:
        self.build, self.call = build, call
        self.told: dict[tuple[Told, Frozen], Rows] = {}
        # Whether what a run tells beside what it was made for is what a run made for that tells, in the same order:
        # found at the first point where there are both.
        self.stands: dict[Told, bool] = {}

    def forward(self, point: Point) -> Rows:
        """Every matrix product of a forward pass, by the path of the module it ran in."""
        return self._instead(Told.WHILE_TRAINED, point)

    def trained(self, point: Point) -> Rows:
        """Every matrix product of a forward and a backward pass."""
        return self._once(Told.TRAINED, point, lambda: self._run(point, backward=True))

    def kept(self, point: Point) -> Rows:
        """What autograd keeps of a forward pass, weights left out: each storage where it is first kept."""
        if (stands := self.stands.get(Told.KEPT)) is not False:
            with nullcontext() if stands else suppress(Exception):  # the real one says why
                self._once(Told.KEPT, point, lambda: self._kept(point))
        return self._instead(Told.KEPT, point)

    def really_kept(self, point: Point) -> Rows:
        """The same with fake tensors, which go where a CPU's would."""

        def rows() -> Rows:
            return session(self.build, point).kept(lambda model: self.call(model, point)).tally.rows

        return self._once(Told.REALLY_KEPT, point, rows)

    def cached(self, point: Point) -> Rows:
        """The shape of every tensor of the cache that a model fills by itself."""
        return self._once(
            Told.CACHED, point, lambda: session(self.build, point).cached(lambda model: self.call(model, point))
        )

    def counted(self, point: Point, backward: bool = False) -> tuple[Rows, int]:
        """The products of a run of its own, and what torch's own counter, which watches the same one, says of them."""
        at = session(self.build, point)
        seen = Products(at.model())
        counter = at.flops(lambda model: self.call(model, point), seen, backward=backward)
        return seen.rows, int(counter.get_total_flops())

    def dispatched(self, point: Point) -> int:
        """How many operations of any kind a run has."""
        return session(self.build, point).operations(lambda model: self.call(model, point))

    def apart(self, unfit: bool) -> bool:
        """After a trace that failed: let no run stand for another from here on; whether one did that may be to blame.

        Rows that are ``unfit`` are made again where they were told last, and are not to blame if they come out alike.
        """
        blamed = [told for told, stands in self.stands.items() if stands and not (unfit and self._again(told))]
        self.stands |= dict.fromkeys(blamed, False)
        return bool(blamed)

    def _again(self, beside: Told) -> bool:
        latest = [at for each, at in reversed(self.told) if each is beside][:AGAIN]
        told, make = INSTEAD[beside]
        return all(
            [*self._once(told, dict(at), partial(make, self, dict(at))).items()] == [*self.told[beside, at].items()]
            for at in latest
        )

    def _run(self, point: Point, backward: bool = False) -> Rows:
        at = session(self.build, point)
        seen = Products(at.model())
        with ExitStack() as entered:
            keeper = entered.enter_context(keeping(at.model())) if backward else None
            at.run(lambda model: self.call(model, point), seen, backward=backward)
        if keeper:
            self.told[Told.KEPT, frozen(point)] = keeper.tally.rows
            self.told[Told.WHILE_TRAINED, frozen(point)] = seen.forward.rows
        return seen.rows

    def _kept(self, point: Point) -> Rows:
        at = session(self.build, point)
        with keeping(at.model()) as keeper:
            at.run(lambda model: self.call(model, point), Remembering(), grad=True)
        return keeper.tally.rows

    def _once(self, told: Told, point: Point, make: Callable[[], Rows]) -> Rows:
        key = told, frozen(point)
        if key not in self.told:
            self.told[key] = make()
        return self.told[key]

    def _instead(self, beside: Told, point: Point) -> Rows:
        """What was told beside something else, where that is known to be the same; else what it would stand for."""
        told, make = INSTEAD[beside]
        instead = self.told.get((beside, frozen(point)))
        if instead is not None and self.stands.get(beside) and (told, frozen(point)) not in self.told:
            return instead
        rows = self._once(told, point, partial(make, self, point))
        if instead is not None:
            self.stands.setdefault(beside, [*rows.items()] == [*instead.items()])
        return rows


def frozen(point: Point) -> Frozen:
    """A point as a key."""
    return tuple(sorted(point.items()))


# What each may stand for, and how that is made.
INSTEAD: Mapping[Told, tuple[Told, Callable[[Points, Point], Rows]]] = {
    Told.WHILE_TRAINED: (Told.FORWARD, Points._run),
    Told.KEPT: (Told.REALLY_KEPT, Points.really_kept),
}
