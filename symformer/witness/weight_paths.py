"""Names of weights: ours, from those in torch models and in checkpoints. This module does not import torch."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import get_args

from sympy import Expr, Symbol

from ..architectures.base_architecture import Architecture
from ..architectures.bases.encoder_decoder import EncoderDecoder, Tower
from ..architectures.bases.multimodal import LANGUAGE, Multimodal
from ..architectures.bases.stacked import Stack, Stacked
from ..language.sizes import evaluate
from ..ledger.facts import ARRANGING, POINTWISE


@cache
def with_stars(path: str) -> str:
    """Return a path of ours with * for layer numbers."""
    return ".".join("*" if word.isdigit() else word for word in path.split("."))


def our_path(component: Architecture, name: str, numbers: Mapping[Symbol, int]) -> str:
    """Return our name for a parameter or module of torch."""
    return _in_its_stack(path_in_list(component, name), component, numbers)


def path_in_list(component: Architecture, name: str) -> str:
    """Return our name for a parameter or module of torch, with all layers in one list, as in the class."""
    path = f"{name}.".removeprefix(component.witness.prefix).rstrip(".")
    for theirs, ours in component.witness.rename.items():
        path = path.replace(theirs, ours)
    return path


def _in_its_stack(path: str, component: Architecture, numbers: Mapping[Symbol, int]) -> str:
    """Return a path with the stack of a layer: torch keeps all layers in one list, we keep one stack per kind."""
    before = next((each for each in towers(component) if path.startswith(each)), None)
    if before is None or len(towers(component)[before]) < 2:
        return path
    place, _, inside = path.removeprefix(before).partition(".")[2].partition(".")
    if not place.isdigit():
        return path
    order = layer_order(component, before, numbers)
    stack = order[int(place)] if int(place) < len(order) else ""
    own = before + ".".join(filter(None, (stack, place, inside)))
    if not stack or with_stars(own) not in known_paths(component):
        return path
    # A module may compute what all kinds share, around a part of one kind.
    return (
        path if any(with_stars(path) in each and with_stars(own) not in each for each in _computing(component)) else own
    )


def layer_order(component: Architecture, before: str, numbers: Mapping[Symbol, int]) -> list[str]:
    """Return the stack of each layer of a tower, in the order of torch's list."""
    stacks, layers = towers(component)[before], component.fields.layers
    named = {count: stack for stack, count in stacks.items()}
    if layers is not None and layers.alternating:
        return [named[size] for size in layers.order(numbers)]
    return [stack for stack, size in stacks.items() for _ in range(evaluate(size, numbers, stack))]


@cache
def towers(component: Architecture) -> Mapping[str, Mapping[str, Expr]]:
    """Return the number of layers of each stack, in the order of the config, by the beginning of the tower's paths."""
    if isinstance(component, EncoderDecoder):
        return {f"{tower}.": _counts(component.stacks(tower)) for tower in get_args(Tower)}
    if isinstance(component, Stacked):
        return {f"{LANGUAGE}." if isinstance(component, Multimodal) else "": _counts(component.stacks)}
    return {}


def _counts(stacks: tuple[Stack, ...]) -> Mapping[str, Expr]:
    return {each.name: each.count for each in stacks}


@cache
def known_paths(component: Architecture) -> frozenset[str]:
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
    operations outside modules, such as the scores of attention.
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
