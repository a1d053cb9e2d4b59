"""Builds of code that reads tensor values while it builds: small tensors have values, large ones only shapes.

On the meta device no tensor has values, so ``.item()``, ``.tolist()`` and ``.numpy()`` raise. Here every tensor of at
most ``MOST`` elements is on the CPU, and an operation with a larger output returns a tensor on the meta device.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes, _get_current_dispatch_mode_stack
from torch.utils._pytree import tree_flatten, tree_map_only

from ..language.errors import WitnessError

MOST = 2**20  # most elements of a tensor with values
META = torch.device("meta")
_UNREADABLE = re.compile(r"\bmeta\b|data.dependent", re.IGNORECASE)


def reads_values(error: BaseException) -> bool:
    """Return True if code failed because it read a value of a tensor without values."""
    return bool(_UNREADABLE.search(str(error)))


def has_values() -> bool:
    """Return True while a build with values is running."""
    return any(isinstance(each, ValueReads) for each in _get_current_dispatch_mode_stack())


class ValueReads(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """A mode that runs an operation on the CPU if its inputs have values and its output is small, else on meta."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        inputs = [each for each in tree_flatten((args, kwargs))[0] if isinstance(each, Tensor)]
        if inputs and all(each.numel() == 0 or not each.is_meta for each in inputs) and func.is_view:
            return func(*args, **kwargs)
        valueless = any(each.is_meta for each in inputs)
        if not valueless and not _may_be_large(func, args, kwargs, inputs):
            return func(*args, **kwargs)
        if valueless and func._schema.is_mutable and any(not each.is_meta for each in _written(func, args, kwargs)):
            raise WitnessError(f"{func} writes values of a meta tensor, which has none, into a tensor with values")
        args, kwargs = tree_map_only(Tensor, _without_values, (args, kwargs))
        return func(*args, **{**kwargs, **({"device": META} if "device" in kwargs else {})})


def _may_be_large(func: Any, args: Any, kwargs: Any, inputs: list[Tensor]) -> bool:
    """Return True if an output has more than ``MOST`` elements, according to the same operation without values."""
    if func._schema.is_mutable:  # it writes into an input, which is small
        return False
    shaped: tuple[Any, dict[str, Any]] = tree_map_only(Tensor, _without_values, (args, kwargs))
    try:
        found = func(*shaped[0], **{**shaped[1], **({"device": META} if "device" in kwargs else {})})
    except Exception:  # its shape depends on values, so it is not larger than its inputs
        return False
    outputs = [each for each in tree_flatten(found)[0] if isinstance(each, Tensor)]
    return any(each.numel() > MOST for each in outputs)


def _written(func: Any, args: Any, kwargs: Any) -> list[Tensor]:
    """Return the inputs that an operation modifies."""
    named = dict(zip((each.name for each in func._schema.arguments), args, strict=False)) | kwargs
    written = [each.name for each in func._schema.arguments if each.alias_info and each.alias_info.is_write]
    return [named[name] for name in written if isinstance(named.get(name), Tensor)]


def _without_values(tensor: Tensor) -> Tensor:
    return tensor if tensor.is_meta else tensor.to(META)


def built_with_values(build: Callable[[], Any], seed: int) -> Any:
    """Build a module whose small tensors have values, and return it on the meta device.

    The random numbers that the code draws depend on ``seed``; the caller's random state is not changed.
    """
    with _disable_current_modes(), torch.random.fork_rng(devices=[]), torch.device("cpu"):
        torch.manual_seed(seed)
        with ValueReads():  # type: ignore[no-untyped-call]
            made = build()
        if isinstance(made, nn.Module):
            _drop_values(made)
    return made


def _drop_values(model: nn.Module) -> None:
    """Replace each parameter and buffer by one on the meta device; shared tensors stay shared."""
    known: dict[int, Any] = {}
    for module in model.modules():
        for tensors in (module._parameters, module._buffers):
            for name, tensor in tensors.items():
                if tensor is None or tensor.is_meta:
                    continue
                if id(tensor) not in known:
                    bare = tensor.detach().to(META)
                    if isinstance(tensor, nn.Parameter):
                        bare = nn.Parameter(bare, requires_grad=tensor.requires_grad)
                    known[id(tensor)] = bare
                tensors[name] = known[id(tensor)]
