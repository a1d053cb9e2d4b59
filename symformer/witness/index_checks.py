"""Indices beyond the end of a table: the meta device does not check them, but a real run raises an IndexError.

For tensors made only of positions, ones and constants, the largest element is known without data. If such a tensor
indexes a table with fewer rows, the run is rejected, as a real one would be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from .interpolation import Point
from .measured_points import Call

aten = torch.ops.aten

# Operations whose output contains only elements of their first input.
VIEWS = frozenset(
    (
        *(aten.view, aten._unsafe_view, aten.reshape, aten.unsqueeze, aten.squeeze, aten.expand, aten.repeat),
        *(aten.slice, aten.select, aten.clone, aten._to_copy, aten.alias, aten.detach, aten.permute, aten.transpose),
        *(aten.t, aten.lift_fresh, aten.contiguous, aten.flip, aten.tril, aten.triu),
    )
)


class IndexCheck(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """A mode that rejects an index beyond the last row of a table, if the index is known."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.tops: dict[int, tuple[Tensor, float]] = {}  # keeps the tensors, so that no id is reused

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        packet = func.overloadpacket
        if packet in LOOKUPS:
            table, indices = LOOKUPS[packet](args)
            masked = any(isinstance(each, Tensor) and each.dtype is torch.bool for _, each in indices)
            for axis, each in () if masked else indices:
                top = self._top(each) if isinstance(each, Tensor) else None
                if top is not None and top >= table.shape[axis]:
                    raise IndexError(f"index {top:g} is out of range for a table of {table.shape[axis]} rows")
        out = func(*args, **(kwargs or {}))
        if isinstance(out, Tensor):
            top = None if kwargs and kwargs.get("alpha", 1) != 1 else self._made(packet, args, out)
            self.tops.pop(id(out), None)
            if top is not None:
                self.tops[id(out)] = out, top
        return out

    def _top(self, value: Any) -> float | None:
        """Return the largest element of a tensor, or a number itself, or None if unknown."""
        if isinstance(value, Tensor):
            return self.tops[id(value)][1] if id(value) in self.tops else None
        return value if isinstance(value, int | float) else None

    def _made(self, packet: Any, args: Any, out: Tensor) -> float | None:
        """Return the largest element of an operation's output, or None if unknown."""
        if packet in VIEWS:
            fewer = out.numel() < args[0].numel()  # it is unknown which elements remain
            return None if fewer else self._top(args[0])
        if packet is aten.arange:
            numbers: list[float] = [each for each in args if isinstance(each, int | float)]
            start, step = (numbers[0], (*numbers, 1)[2]) if len(numbers) > 1 else (0, 1)
            return float(max(start, start + (out.numel() - 1) * step)) if out.numel() else None
        if packet in FILLED:
            return FILLED[packet](args)
        first, second = [*(self._top(each) for each in args[:2]), None, None][:2]
        if packet is aten.cumsum and first is not None:
            return float(first * out.shape[args[1]])
        if packet in (aten.sub, aten.sub_) and isinstance(args[1], Tensor):
            return None  # the largest difference is not the difference of the largest elements
        if packet not in SUMS or first is None or second is None:
            return None
        return SUMS[packet](first, second)


def _filled(place: int) -> Callable[[Any], float | None]:
    def filled(args: Any) -> float | None:
        return float(args[place]) if isinstance(args[place], int | float) else None

    return filled


# The table of an operation, and the index for each axis.
LOOKUPS: Mapping[Any, Callable[[Any], tuple[Tensor, Sequence[tuple[int, Any]]]]] = {
    aten.embedding: lambda args: (args[0], [(0, args[1])]),
    aten.index: lambda args: (args[0], list(enumerate(args[1]))),
    **dict.fromkeys((aten.gather, aten.index_select), lambda args: (args[0], [(args[1], args[2])])),
}
FILLED: Mapping[Any, Callable[[Any], float | None]] = {
    **dict.fromkeys((aten.ones, aten.ones_like, aten.new_ones), lambda args: 1),
    **dict.fromkeys((aten.zeros, aten.zeros_like, aten.new_zeros), lambda args: 0),
    aten.ne: lambda args: 1,  # no token is padding
    **dict.fromkeys((aten.full, aten.full_like), _filled(1)),
    aten.new_full: _filled(2),
}
# For nonnegative numbers; only for these is the largest known.
SUMS: Mapping[Any, Callable[[float, float], float]] = {
    **dict.fromkeys((aten.add, aten.add_), lambda a, b: a + b),
    **dict.fromkeys((aten.sub, aten.sub_), lambda a, b: a - b),
    **dict.fromkeys((aten.mul, aten.mul_), lambda a, b: a * b),
    **dict.fromkeys((aten.minimum, aten.clamp_max), min),
}


def in_tables(call: Call) -> Call:
    """Return a call that fails if a real one would read beyond the end of a table."""

    def run(model: nn.Module, point: Point) -> Any:
        with IndexCheck():
            return call(model, point)

    return run
