"""Construction of the torch witness of an architecture, and the parameters it stores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import version
from typing import Any, get_args

from sympy import Expr, Symbol
from torch import nn

from ..architectures.base_architecture import Architecture
from ..architectures.bases.encoder_decoder import EncoderDecoder, Tower
from ..architectures.bases.multimodal import LANGUAGE, Multimodal
from ..architectures.bases.stacked import Stack, Stacked
from ..language.errors import WitnessError
from ..language.sizes import evaluate
from ..ledger.facts import ARRANGING, POINTWISE
from . import INSTALL
from .torch_session import Session


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
    known = _named(component)
    return [
        StoredWeight(next((path for path in names if with_stars(path) in known), names[0]), shapes[each])
        for each, names in paths.items()
    ]


@cache
def with_stars(path: str) -> str:
    """Return a path of ours with * for layer numbers."""
    return ".".join("*" if word.isdigit() else word for word in path.split("."))


def our_path(component: Architecture, name: str, numbers: Mapping[Symbol, int]) -> str:
    """Return our name for a parameter or module of torch."""
    path = f"{name}.".removeprefix(component.witness.prefix).rstrip(".")
    for theirs, ours in component.witness.rename.items():
        path = path.replace(theirs, ours)
    return _in_its_stack(path, component, numbers)


def _in_its_stack(path: str, component: Architecture, numbers: Mapping[Symbol, int]) -> str:
    """Return a path with the stack of a layer: torch keeps all layers in one list, we keep one stack per kind."""
    before = next((each for each in _towers(component) if path.startswith(each)), None)
    if before is None or len(_towers(component)[before]) < 2:
        return path
    place, _, inside = path.removeprefix(before).partition(".")[2].partition(".")
    if not place.isdigit():
        return path
    order = _order(component, before, numbers)
    stack = order[int(place)] if int(place) < len(order) else ""
    own = before + ".".join(filter(None, (stack, place, inside)))
    if not stack or with_stars(own) not in _named(component):
        return path
    # A module may compute what all kinds share, around a part of one kind.
    return (
        path if any(with_stars(path) in each and with_stars(own) not in each for each in _computing(component)) else own
    )


def _order(component: Architecture, before: str, numbers: Mapping[Symbol, int]) -> list[str]:
    """Return the stack of each layer of a tower, in the order of torch's list."""
    stacks, layers = _towers(component)[before], component.fields.layers
    named = {count: stack for stack, count in stacks.items()}
    if layers is not None and layers.alternating:
        return [named[size] for size in layers.order(numbers)]
    return [stack for stack, size in stacks.items() for _ in range(evaluate(size, numbers, stack))]


@cache
def _towers(component: Architecture) -> Mapping[str, Mapping[str, Expr]]:
    """Return the number of layers of each stack, in the order of the config, by the beginning of the tower's paths."""
    if isinstance(component, EncoderDecoder):
        return {f"{tower}.": _counts(component.stacks(tower)) for tower in get_args(Tower)}
    if isinstance(component, Stacked):
        return {f"{LANGUAGE}." if isinstance(component, Multimodal) else "": _counts(component.stacks)}
    return {}


def _counts(stacks: tuple[Stack, ...]) -> Mapping[str, Expr]:
    return {each.name: each.count for each in stacks}


@cache
def _named(component: Architecture) -> frozenset[str]:
    """Return every path in a component's ledger, with stars: compared operations, weights, and enclosing modules.

    Elementwise operations do not count. A rotation that only one kind of layer has is in a module whose products all
    kinds share.
    """
    compared = [entry for _, entry in component.ledger if entry.kind not in (*POINTWISE, *ARRANGING)]
    paths = [path for entry in compared for path in (entry.path, *(each.path for each in entry.weights))]
    words = [with_stars(path).split(".") for path in paths]
    return frozenset(".".join(some[:length]) for some in words for length in range(1, len(some) + 1))


@cache
def _computing(component: Architecture) -> tuple[frozenset[str], frozenset[str]]:
    """Return two sets of paths, with stars: of all modules that compute something, and of those that do so themselves.

    The first has every compared operation and the module that it is directly in. The second has only the modules around
    operations that are no modules themselves, such as the scores of attention.
    """
    around: dict[str, str] = {}
    own = set()
    for _, entry in component.ledger:
        if entry.kind not in (*POINTWISE, *ARRANGING):
            path = with_stars(entry.path)
            around[path] = path.rpartition(".")[0]
            if not any(weight.path.startswith(f"{entry.path}.") for weight in entry.weights):
                own.add(around[path])
    return frozenset((*around, *around.values())), frozenset(own)


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
