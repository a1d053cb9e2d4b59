"""Construction of the torch witness of an architecture, and the parameters it stores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import version
from typing import Any

from sympy import Expr, Symbol
from torch import nn

from ..architectures.base_architecture import Architecture
from ..language.errors import WitnessError
from ..language.sizes import evaluate
from . import INSTALL
from .torch_session import Session
from .weight_paths import known_paths, our_path, with_stars


@dataclass(frozen=True)
class StoredWeight:
    """One parameter of a torch model, under our name for it."""

    path: str
    shape: tuple[int, ...]


def witness_class(component: Architecture) -> type[nn.Module]:
    """Return the torch class of a component. Raises WitnessError if its library is not installed."""
    module, name = class_path(component)
    try:
        found: type[nn.Module] = getattr(import_module(module), name)
    except ImportError as error:
        missing = (error.name or module).partition(".")[0]
        how = INSTALL if missing in INSTALL else f"pip install {missing}"
        raise WitnessError(f"{component.title} needs {missing}, which is not installed ({error}); {how}") from None
    return found


def class_path(component: Architecture) -> tuple[str, str]:
    """Return the module and the name of the witness, without importing it."""
    named = component.fields.class_for(component)
    module, colon, name = named.rpartition(":")
    return (module, name) if colon else (component.witness.library, named)


def recipe(component: Architecture, numbers: Mapping[Symbol, int]) -> Callable[[], nn.Module]:
    """Return a function that builds the witness at these sizes, on the session's device.

    The function raises WitnessError if the config class rejects the config.
    """
    made_by = witness_class(component)
    config: dict[str, Any] = component.fields.write(component, numbers)
    for name, value in component.witness.arguments.items():
        config[name] = evaluate(value, numbers, name) if isinstance(value, Expr) else value

    def make() -> nn.Module:
        if not component.witness.config:
            return made_by(**config)
        config_class = getattr(import_module(component.witness.library), component.witness.config)
        try:
            read = config_class(**config)
        except Exception as error:  # any error of the config class
            reason = " ".join(str(error).split()).rstrip(".")
            raise WitnessError(
                f"{component.witness.config} rejects a config of {component.title}: {reason}; if it requires a "
                "condition of the sizes, add it to the WitnessSpec: conditions=HEADS_DIVIDE if A must divide E"
            ) from error
        return made_by(read)

    return make


def build(component: Architecture, numbers: Mapping[Symbol, int], device: str = "meta") -> nn.Module:
    """Return the witness at these sizes; on the meta device it takes no memory, whatever the sizes."""
    return Session(recipe(component, numbers)).model(device)


def stored_rows(
    component: Architecture, model: nn.Module, numbers: Mapping[Symbol, int] | None = None
) -> list[StoredWeight]:
    """Return every unique parameter once, under our ledger's name; ``numbers`` distinguish stacks of layers.

    A tied weight has several names in torch, in the order in which the class creates its modules.
    """
    paths: dict[int, list[str]] = {}
    shapes: dict[int, tuple[int, ...]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        paths.setdefault(id(parameter), []).append(our_path(component, name, numbers or {}))
        shapes[id(parameter)] = tuple(parameter.shape)
    known = known_paths(component)
    return [
        StoredWeight(next((path for path in names if with_stars(path) in known), names[0]), shapes[each])
        for each, names in paths.items()
    ]


def versions(component: Architecture) -> dict[str, str]:
    """Return the versions of the libraries that a witness comes from."""
    libraries = ["torch"]
    if component.witness.library not in ("torch.nn",) and not component.witness.library.startswith("symformer"):
        libraries.insert(0, component.witness.library)
    return releases(*libraries)


def releases(*libraries: str) -> dict[str, str]:
    """Return the versions of installed libraries."""
    return {library: _release(library) for library in libraries}


@cache
def _release(library: str) -> str:
    return version(library).partition("+")[0]
