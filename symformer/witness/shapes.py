"""What an operation gives on the meta device, asked of torch once for each set of arguments, and known from then on.

Nothing on meta has data, so what an operation gives is a function of the shapes, strides and kinds of what it is given.
Torch works much of that out in Python, which is most of the time of a run; layers, and runs, ask the same again.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import torch
from torch import Tensor, nn

MOST = 100_000  # sets of arguments: some hundred bytes each

Made = tuple[torch.Size, tuple[int, ...], torch.dtype]  # what tells one tensor on meta from another
_PLAIN = (Tensor, nn.Parameter)
_SAID = (type(None), bool, int, float, torch.dtype, torch.layout, torch.device, torch.memory_format, str)


class UnknownError(Exception):
    """An argument that is more than its shape."""


class Shapes:
    """Operations that make new tensors, and what they made."""

    def __init__(self) -> None:
        self.made: dict[Hashable, tuple[Made, ...] | None] = {}  # None where it is to be asked every time

    def call(self, func: Any, args: Any, kwargs: Any) -> Any:
        """What an operation gives."""
        try:
            key = (func, _spelt(args), _spelt(tuple(kwargs.items())) if kwargs else ())
        except UnknownError:
            return func(*args, **(kwargs or {}))
        made = self.made.get(key)
        if made is None:
            out = func(*args, **(kwargs or {}))
            if key not in self.made and len(self.made) < MOST:
                self.made[key] = _made(out, args)
            return out
        tensors = [_empty(*each) for each in made]
        return tensors[0] if len(tensors) == 1 else tuple(tensors)


def _spelt(args: Any) -> tuple[Hashable, ...]:
    """Arguments as far as the meta device can tell them apart. Raises UnknownError."""
    found: list[Hashable] = []
    for each in args:
        kind = type(each)
        if kind in _PLAIN:
            if not each.is_meta or each.layout is not torch.strided:
                raise UnknownError
            found.append((each.shape, each.stride(), each.dtype, each.is_conj(), each.is_neg()))
        elif kind in (list, tuple):
            found.append(_spelt(each))
        elif kind in _SAID:
            found.append((kind, each))  # 1, 1.0 and True are the same key and not the same argument
        else:
            raise UnknownError
    return tuple(found)


def _made(out: Any, args: Any) -> tuple[Made, ...] | None:
    """What was made; None for a view, for what was changed in place, and for all that is no plain tensor."""
    tensors = out if isinstance(out, tuple) and len(out) > 1 else (out,)
    given = {each.untyped_storage()._cdata for each in _tensors(args)}
    if any(
        type(each) is not Tensor
        or not each.is_meta
        or each.layout is not torch.strided
        or each.is_conj()
        or each.is_neg()
        or each.untyped_storage()._cdata in given
        for each in tensors
    ):
        return None
    found = tuple((each.shape, each.stride(), each.dtype) for each in tensors)
    again = [_empty(*each).untyped_storage().nbytes() for each in found]
    return found if again == [each.untyped_storage().nbytes() for each in tensors] else None


def _empty(shape: torch.Size, stride: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    return torch.empty_strided(shape, stride, dtype=dtype, device="meta")


def _tensors(args: Any) -> list[Tensor]:
    return [
        found
        for each in args
        for found in ([each] if isinstance(each, Tensor) else _tensors(each) if isinstance(each, list | tuple) else [])
    ]
