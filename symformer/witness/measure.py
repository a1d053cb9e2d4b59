"""Building the torch witness of an architecture, and reading what it stores."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from typing import Any, cast

import torch
from sympy import Symbol
from torch import nn

from ..architectures.base import Architecture
from ..errors import WitnessError

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # a witness is built from its code alone


@dataclass(frozen=True)
class Stored:
    """One parameter of a torch model, by our name for it."""

    path: str
    shape: tuple[int, ...]


def witness_class(component: Architecture) -> type[nn.Module]:
    """The torch class that stands for a component. Raises WitnessError where the library is not installed."""
    module, name = class_path(component)
    try:
        found: type[nn.Module] = getattr(import_module(module), name)
    except ImportError as error:
        raise WitnessError(f"{module} is not installed ({error}); pip install 'symformer[torch]'") from None
    return found


def class_path(component: Architecture) -> tuple[str, str]:
    """The module and the name of the witness, without importing it."""
    named = component.fields.class_for(component)
    module, colon, name = named.rpartition(":")
    return (module, name) if colon else (component.witness.library, named)


def build(component: Architecture, numbers: Mapping[Symbol, int], device: str = "meta") -> nn.Module:
    """The witness at these sizes; on the meta device it takes no memory, whatever the sizes."""
    made_by = witness_class(component)
    config: dict[str, Any] = {**component.fields.write(component, numbers), **component.witness.arguments}
    with torch.device(device), torch.no_grad(), without_initialisation(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # remarks on speed, from classes that are never run here
        if component.witness.config:
            library = import_module(component.witness.library)
            library.logging.set_verbosity_error()  # its remarks on token ids outside a drawn vocabulary
            model: Any = made_by(getattr(library, component.witness.config)(**config))
            model.tie_weights()  # on meta, nothing has tied them yet
        else:
            model = made_by(**config)
    return cast(nn.Module, model)


def stored_rows(component: Architecture, model: nn.Module, numbers: Mapping[Symbol, int] | None = None) -> list[Stored]:
    """Every unique parameter, once, under the name our ledger gives it; ``numbers`` tell stacks of layers apart."""
    rows = []
    for name, parameter in model.named_parameters(remove_duplicate=True):
        path = name.removeprefix(component.witness.prefix)
        for theirs, ours in component.witness.rename.items():
            path = path.replace(theirs, ours)
        path = _in_its_stack(path, component.witness.stacks, numbers or {})
        rows.append(Stored(path, tuple(parameter.shape)))
    return rows


def _in_its_stack(path: str, stacks: Mapping[str, Symbol], numbers: Mapping[Symbol, int]) -> str:
    """Torch keeps all layers in one list; ours stand in a stack for each kind of layer, one after another."""
    number, _, rest = path.partition(".")[2].partition(".")
    if not stacks or not number.isdigit():
        return path
    first = 0
    for stack, size in stacks.items():
        if int(number) < first + numbers[size]:
            return f"{stack}.{number}.{rest}"
        first += numbers[size]
    return path


def versions(component: Architecture) -> dict[str, str]:
    """The versions of the libraries a witness comes from."""
    libraries = ["torch"]
    if component.witness.library not in ("torch.nn",) and not component.witness.library.startswith("symformer"):
        libraries.insert(0, component.witness.library)
    return releases(*libraries)


def releases(*libraries: str) -> dict[str, str]:
    """The versions of libraries that are installed."""
    return {library: version(library).partition("+")[0] for library in libraries}


@contextmanager
def without_initialisation() -> Iterator[None]:
    """Filling weights with random numbers is most of the time on meta, and tells nothing."""
    kept = {name: getattr(nn.init, name) for name in dir(nn.init) if name.endswith("_") and not name.startswith("_")}
    for name in kept:
        setattr(nn.init, name, lambda tensor, *args, **kwargs: tensor)
    try:
        yield
    finally:
        for name, function in kept.items():
            setattr(nn.init, name, function)
