"""One model at many points. Each measurement is made once and shared by all quantities that need it.

Every run has its own session, because code may change its model while it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack, nullcontext, suppress
from enum import Enum, auto
from functools import partial
from typing import Any

from torch import nn

from .dispatch_recorders import OutputCache, Products, Rows, record_saved
from .interpolation import Point
from .torch_session import Session

Build = Callable[[Point], nn.Module]
Call = Callable[[nn.Module, Point], Any]  # runs a model on inputs of a point's sizes and returns its output
Frozen = tuple[tuple[str, int], ...]


AGAIN = 2  # points at which to recheck a run that replaced another: one may agree by chance


class TorchAnswers(Enum):
    """The kinds of results of a run."""

    FORWARD = auto()  # the products of a forward pass without training
    TRAINED = auto()  # the products of a forward and a backward pass
    WHILE_TRAINED = auto()  # the products of the forward pass among these
    KEPT = auto()  # what autograd saves on the meta device
    REALLY_KEPT = auto()  # what autograd saves on a CPU, whose kernels may save other tensors
    CACHED = auto()  # the cache that a model fills


def session(build: Build, point: Point) -> Session:
    """Return the session of a build at a point."""
    return Session(lambda: build(point))


def weights_at(build: Build) -> Callable[[Point], Rows]:
    """Return a function for the stored parameters at a point: the shape of each unique one, by its path."""
    return lambda point: session(build, point).stored()


class Points:
    """One model, called in one way, at many points. Each run records every result it can."""

    def __init__(self, build: Build, call: Call) -> None:
        self.build, self.call = build, call
        self.told: dict[tuple[TorchAnswers, Frozen], Rows] = {}
        # Whether a by-product of a run equals the result of a dedicated run, in the same order: determined at the first
        # point that has both.
        self.stands: dict[TorchAnswers, bool] = {}

    def forward(self, point: Point) -> Rows:
        """Return every matrix product of a forward pass, by the path of the module it ran in."""
        return self._instead(TorchAnswers.WHILE_TRAINED, point)

    def trained(self, point: Point) -> Rows:
        """Return every matrix product of a forward and a backward pass."""
        return self._once(TorchAnswers.TRAINED, point, lambda: self._run(point, backward=True))

    def kept(self, point: Point) -> Rows:
        """Return what autograd saves in a forward pass, excluding weights: each storage at its first use."""
        if (stands := self.stands.get(TorchAnswers.KEPT)) is not False:
            with nullcontext() if stands else suppress(Exception):  # the CPU run reports the error
                self._once(TorchAnswers.KEPT, point, lambda: self._kept(point))
        return self._instead(TorchAnswers.KEPT, point)

    def really_kept(self, point: Point) -> Rows:
        """Return the same for fake CPU tensors."""

        def rows() -> Rows:
            return session(self.build, point).kept(lambda model: self.call(model, point)).tally.rows

        return self._once(TorchAnswers.REALLY_KEPT, point, rows)

    def cached(self, point: Point) -> Rows:
        """Return the shape of every tensor of the cache that a model fills."""
        return self._once(
            TorchAnswers.CACHED, point, lambda: session(self.build, point).cached(lambda model: self.call(model, point))
        )

    def counted(self, point: Point, backward: bool = False) -> tuple[Rows, int]:
        """Return the products of a dedicated run, and its FLOPs by torch's own counter."""
        at = session(self.build, point)
        seen = Products(at.model())
        counter = at.flops(lambda model: self.call(model, point), seen, backward=backward)
        return seen.rows, int(counter.get_total_flops())

    def dispatched(self, point: Point) -> int:
        """Return the number of operations of any kind in a run."""
        return session(self.build, point).operations(lambda model: self.call(model, point))

    def apart(self, unfit: bool) -> bool:
        """Stop substituting by-products for dedicated runs after a failed trace; return True if one may be to blame.

        If the rows were ``unfit``, the latest points are rechecked, and by-products that agree are not to blame.
        """
        blamed = [told for told, stands in self.stands.items() if stands and not (unfit and self._again(told))]
        self.stands |= dict.fromkeys(blamed, False)
        return bool(blamed)

    def _again(self, beside: TorchAnswers) -> bool:
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
            keeper = entered.enter_context(record_saved(at.model(), backward=True)) if backward else None
            at.run(lambda model: self.call(model, point), seen, backward=backward)
        if keeper:
            self.told[TorchAnswers.KEPT, frozen(point)] = keeper.tally.rows
            self.told[TorchAnswers.WHILE_TRAINED, frozen(point)] = seen.forward.rows
        return seen.rows

    def _kept(self, point: Point) -> Rows:
        at = session(self.build, point)
        with record_saved(at.model()) as keeper:
            output = at.run(lambda model: self.call(model, point), OutputCache(), grad=True)
            keeper.settle()
            del output
        return keeper.tally.rows

    def _once(self, told: TorchAnswers, point: Point, make: Callable[[], Rows]) -> Rows:
        key = told, frozen(point)
        if key not in self.told:
            self.told[key] = make()
        return self.told[key]

    def _instead(self, beside: TorchAnswers, point: Point) -> Rows:
        """Return a by-product of a run if it is known to equal the dedicated run's result, or else that result."""
        told, make = INSTEAD[beside]
        instead = self.told.get((beside, frozen(point)))
        if instead is not None and self.stands.get(beside) and (told, frozen(point)) not in self.told:
            return instead
        rows = self._once(told, point, partial(make, self, point))
        if instead is not None:
            self.stands.setdefault(beside, [*rows.items()] == [*instead.items()])
        return rows


def frozen(point: Point) -> Frozen:
    """Return a point as a key."""
    return tuple(sorted(point.items()))


# The result that each by-product replaces, and how to compute it.
INSTEAD: Mapping[TorchAnswers, tuple[TorchAnswers, Callable[[Points, Point], Rows]]] = {
    TorchAnswers.WHILE_TRAINED: (TorchAnswers.FORWARD, Points._run),
    TorchAnswers.KEPT: (TorchAnswers.REALLY_KEPT, Points.really_kept),
}
