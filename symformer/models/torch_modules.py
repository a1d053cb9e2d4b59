"""Torch modules given as objects: their parameters by row, without importing torch."""

from __future__ import annotations

import inspect
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from math import prod
from typing import Any

from ..language.errors import SizeError, WitnessError
from .model import Model

STAR = "*"
_PARAMETER = "torch.nn.parameter.Parameter"


def shapes_of(module: Any, name: str) -> dict[str, tuple[int, ...]]:
    """Return the shape of each parameter by its path; a parameter with several paths has the first.

    Raises WitnessError for a parameter that is not initialized, packed or divided over devices: its stored elements are
    not the parameters of the model.
    """
    found: dict[str, tuple[int, ...]] = {}
    for path, weight in module.named_parameters():
        kind = f"{type(weight).__module__}.{type(weight).__qualname__}"
        if kind != _PARAMETER or type(getattr(weight, "data", None)).__name__ not in ("Tensor", "FakeTensor"):
            raise WitnessError(
                f"{path} of {name} is a {type(weight).__name__}, whose elements may not be the parameters of the "
                "model; pass a module with plain parameters, such as one on the meta device"
            )
        if getattr(weight, "is_quantized", False) or not (weight.is_floating_point() or weight.is_complex()):
            raise WitnessError(
                f"{path} of {name} has the dtype {weight.dtype}, which may be packed; pass the plain module"
            )
        found[path] = tuple(map(int, weight.shape))
    return found


def repeated(shapes: Mapping[str, tuple[int, ...]]) -> dict[tuple[str, tuple[int, ...]], tuple[int, ...]]:
    """Return the rows of a module: a path with a star for each index, a shape, and the number of copies at each star.

    Paths that do not have the same number of copies everywhere keep their indices.

    >>> repeated({"h.0.w": (2, 3), "h.1.w": (2, 3), "out.w": (5,)})
    {('h.*.w', (2, 3)): (2,), ('out.w', (5,)): ()}
    >>> repeated({"h.0.x.0": (2,), "h.0.x.1": (2,), "h.1.x.0": (2,)})
    {('h.0.x.0', (2,)): (), ('h.0.x.1', (2,)): (), ('h.1.x.0', (2,)): ()}
    """
    alike: dict[tuple[str, tuple[int, ...]], list[str]] = defaultdict(list)
    for path, shape in shapes.items():
        alike[".".join(STAR if word.isdigit() else word for word in path.split(".")), shape].append(path)
    found: dict[tuple[str, tuple[int, ...]], tuple[int, ...]] = {}
    for (path, shape), paths in alike.items():
        indices = [tuple(word for word in each.split(".") if word.isdigit()) for each in paths]
        levels = [len({each[: place + 1] for each in indices}) for place in range(path.count(STAR))]
        sizes = [len({each[place] for each in indices}) for place in range(path.count(STAR))]
        if levels == [prod(sizes[: place + 1]) for place in range(len(sizes))]:
            found[path, shape] = tuple(levels)
        else:
            found |= {(each, shape): () for each in paths}
    return found


def check_stored(model: Model, module: Any, name: str) -> Model:
    """Return the model of a module's config. Raises WitnessError if the module has another number of parameters."""
    stored = sum(map(prod, shapes_of(module, name).values()))
    try:
        value = model.params.value()
    except SizeError as error:
        raise WitnessError(f"{name}: {error}; pass its .config") from None
    if value != stored:
        raise WitnessError(
            f"{name} has {stored:,} parameters, but the model of its config has {value:,}: the module was changed "
            "after it was built, or some of its weights are packed; pass its .config for the unchanged model"
        )
    return model


def takes_sizes(factory: Callable[..., Any]) -> bool:
    """Return whether a function or a class needs arguments, or has an argument whose default is an integer."""
    try:
        takes = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):  # a C callable has no signature
        return True
    single = [each for each in takes if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    return any(each.default is each.empty or type(each.default) is int for each in single)


def torch_version() -> str:
    """Return the version of the torch that built a module."""
    return str(getattr(sys.modules.get("torch"), "__version__", "")).partition("+")[0]
