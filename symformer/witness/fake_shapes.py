"""The outputs of operations on tensors without data, computed by torch once for each set of arguments and then cached.

An output depends only on the shapes, strides and dtypes of the inputs. Torch computes much of that in Python, which
takes most of the time of a run, and layers and runs repeat it. Elementwise operations are cached for all sizes at once:
their output has the broadcast shape of the inputs, and the same memory order.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode, in_kernel_invocation_manager

aten = torch.ops.aten

MOST = 100_000  # cached sets of arguments: some hundred bytes each
CPU = torch.device("cpu")
_SAID = frozenset((type(None), bool, int, float, torch.dtype, torch.layout, torch.device, torch.memory_format, str))


class TensorKey(NamedTuple):
    """The properties that distinguish one tensor without data from another."""

    shape: Sequence[int]
    stride: Sequence[int]
    dtype: torch.dtype


class MemoryLayout(NamedTuple):
    """The output of an elementwise operation for inputs in a given memory order: its axis order and its dtype."""

    order: tuple[int, ...]
    dtype: torch.dtype


class UnknownError(Exception):
    """An argument that is not determined by its shape."""


class Shapes:
    """A cache of operations that create new tensors on the meta device."""

    def __init__(self) -> None:
        self.made: dict[Hashable, tuple[TensorKey, ...] | None] = {}  # None if it must be computed every time
        self.laid: dict[Hashable, MemoryLayout | None] = {}  # of elementwise operations, for all sizes
        self.views: dict[Any, bool] = {aten._unsafe_view.default: True}  # its schema does not mark it as a view

    def call(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Return the output of an operation."""
        if self._views(func):
            return self.view(func, args, kwargs or {})
        try:
            more = self._spelt(tuple(kwargs.items())) if kwargs else ()
            key = (func, self._spelt(args), more, torch.get_default_dtype())
        except UnknownError:
            return func(*args, **(kwargs or {}))
        made = self.made.get(key)
        if made is None:
            made = self._alike(key)
            if made is None:
                out = func(*args, **(kwargs or {}))
                if key not in self.made:
                    made = self._made(out, args)
                    self._keep(key, made)
                    self._learn(key, made)
                return out
            self._keep(key, made)
        tensors = [self.new(each) for each in made]
        return tensors[0] if len(tensors) == 1 else tuple(tensors)

    def new(self, made: TensorKey) -> Tensor:
        """Return a tensor without data."""
        return torch.empty_strided(made.shape, made.stride, dtype=made.dtype, device="meta")

    def view(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Run a view or an in-place operation, which takes no longer than a cache lookup."""
        return func(*args, **kwargs)

    def ours(self, tensor: Tensor) -> bool:
        """Return True if a tensor is one of those without data."""
        return type(tensor) in (Tensor, nn.Parameter) and tensor.is_meta

    def _keep(self, key: Hashable, made: tuple[TensorKey, ...] | None) -> None:
        if key not in self.made and len(self.made) < MOST:
            self.made[key] = made

    def _views(self, func: Any) -> bool:
        known = self.views.get(func)
        if known is None:
            schema = func._schema
            known = schema.is_mutable or any(each.alias_info is not None for each in schema.returns)
            self.views[func] = known
        return known

    def _spelt(self, args: Any) -> tuple[Hashable, ...]:
        """Return the arguments as torch sees them without data. Raises UnknownError."""
        found: list[Hashable] = []
        for each in args:
            kind = type(each)
            if kind in _SAID:
                found.append((kind, each))  # 1, 1.0 and True are equal as keys but not as arguments
            elif isinstance(each, Tensor):
                if not self.ours(each) or each.layout is not torch.strided or each.is_conj() or each.is_neg():
                    raise UnknownError
                found.append(TensorKey(each.shape, each.stride(), each.dtype))
            elif kind in (list, tuple):
                found.append(self._spelt(each))
            else:
                raise UnknownError
        return tuple(found)

    def _made(self, out: Any, args: Any) -> tuple[TensorKey, ...] | None:
        """Return the new outputs, or None for a view, an in-place result, or anything but plain tensors."""
        tensors = out if isinstance(out, tuple) and len(out) > 1 else (out,)
        given = {each.untyped_storage()._cdata for each in _tensors(args)}
        if any(
            not isinstance(each, Tensor)
            or not self.ours(each)
            or isinstance(each, nn.Parameter)
            or each.layout is not torch.strided
            or each.is_conj()
            or each.is_neg()
            or each.untyped_storage()._cdata in given
            for each in tensors
        ):
            return None
        found = tuple(TensorKey(each.shape, each.stride(), each.dtype) for each in tensors)
        again = [self.new(each).untyped_storage().nbytes() for each in found]
        return found if again == [each.untyped_storage().nbytes() for each in tensors] else None

    def _alike(self, key: Any) -> tuple[TensorKey, ...] | None:
        """Return the output of an elementwise operation if inputs with this memory order are cached."""
        if torch.Tag.pointwise not in key[0].tags or (pattern := _pattern(key)) is None:
            return None
        laid = self.laid.get(pattern[0])
        return (dense_tensor(pattern[1], laid),) if laid else None

    def _learn(self, key: Any, made: tuple[TensorKey, ...] | None) -> None:
        if torch.Tag.pointwise not in key[0].tags or (pattern := _pattern(key)) is None:
            return
        order = made and len(made) == 1 and _order(made[0])
        laid = MemoryLayout(order, made[0].dtype) if made and order else None
        if laid and (dense_tensor(pattern[1], laid),) != made:  # not an operation of this kind
            laid = None
        self.laid.setdefault(pattern[0], laid)


class FakeShapes(Shapes):
    """The same for fake CPU tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.mode: FakeTensorMode | None = None  # the mode of the current tensors

    def new(self, made: TensorKey) -> Tensor:
        assert self.mode is not None
        with in_kernel_invocation_manager(self.mode):
            inner = super().new(made)
        return FakeTensor(self.mode, inner, CPU)

    def view(self, func: Any, args: Any, kwargs: Any) -> Any:
        if func._schema.is_mutable or not all(map(self.ours, _tensors((*args, *kwargs.values())))):
            return func(*args, **kwargs)
        assert self.mode is not None
        with in_kernel_invocation_manager(self.mode):
            out = func(*args, **kwargs)
        if isinstance(out, Tensor):
            return FakeTensor(self.mode, out, CPU)
        return type(out)(FakeTensor(self.mode, each, CPU) for each in out)

    def ours(self, tensor: Tensor) -> bool:
        return type(tensor) is FakeTensor and tensor.fake_device == CPU and tensor.fake_mode is self.mode


def dense_tensor(shape: Sequence[int], layout: MemoryLayout) -> TensorKey:
    """Return a tensor without gaps and with this axis order, largest stride first."""
    stride, step = [0] * len(shape), 1
    for axis in reversed(layout.order):
        stride[axis], step = step, step * shape[axis]
    return TensorKey(torch.Size(shape), tuple(stride), layout.dtype)


def _order(made: TensorKey) -> tuple[int, ...]:
    """Return the axes in the order of their strides, largest first."""
    return tuple(sorted(range(len(made.shape)), key=lambda axis: -made.stride[axis]))


def _lies(made: TensorKey) -> Hashable:
    """Return a tensor's memory order independent of its sizes, except those of 1."""
    steps = sorted({*made.stride, 0})
    ones = tuple(size == 1 for size in made.shape)
    wide = [axis for axis in _order(made) if made.shape[axis] != 1]
    gaps = any(made.stride[a] != made.stride[b] * made.shape[b] for a, b in pairwise(wide))
    return tuple(map(steps.index, made.stride)), ones, gaps or bool(wide and made.stride[wide[-1]] != 1), made.dtype


def _pattern(key: Any) -> tuple[Hashable, tuple[int, ...]] | None:
    """Return the memory order of an operation's inputs, independent of their sizes, and their broadcast shape."""
    func, args, kwargs, default = key
    shape: list[int] = []
    found: list[Hashable] = [func, default]
    for each in (*args, *(value for pair in kwargs for value in pair)):
        if not isinstance(each, TensorKey):
            if not isinstance(each, tuple) or len(each) != 2 or not isinstance(each[0], type):
                return None  # a list of tensors
            found.append(each[0] if each[0] in (int, float) else each)
            continue
        shape = [1] * (len(each.shape) - len(shape)) + shape
        for axis in range(-len(each.shape), 0):
            if shape[axis] == 1:
                shape[axis] = each.shape[axis]
            elif each.shape[axis] not in (1, shape[axis]):
                return None
        found.append(_lies(each))
    return None if 0 in shape or not shape else ((*found, *(size == 1 for size in shape)), tuple(shape))


def _tensors(args: Any) -> list[Tensor]:
    return [
        found
        for each in args
        for found in ([each] if isinstance(each, Tensor) else _tensors(each) if isinstance(each, list | tuple) else [])
    ]
