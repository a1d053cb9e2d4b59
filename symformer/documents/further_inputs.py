"""The inputs that a part reads in addition to its first one, with their meanings, such as the output of the encoder."""

from __future__ import annotations

from collections.abc import Iterator

from ..architectures.base_architecture import Architecture
from ..components.base import Component
from ..language.notation.display_tree import TensorName, Tree
from ..language.shape_lines import shape_line
from ..ledger.facts import Scope, Tensor
from .computation import names_of_inputs
from .ledger_dataflow import read_by
from .part_tensors import APIECE, FURTHER
from .tensor_notation import shape_of

UNKNOWN = "is a further input of the part"
FIRST = {  # the meaning of a first input, by its name; another first input needs no sentence
    "pixels": "are the pixels of the images",
    "spectrogram": "is the spectrogram",
    "sound": "is the waveform",
    "latent": "is the latent image",
}


def further_inputs(scope: Scope) -> Iterator[tuple[TensorName, str, Tree]]:
    """Yield each input of a part that has no letter of its own: its name, its meaning and its shape.

    The first input of a model is among them if it is no tensor of tokens, such as pixels.
    """
    for name, x in names_of_inputs(scope):
        if name.letter in (FURTHER, APIECE):
            means, whole = meaning_of(x, scope)
            if means or name.letter == FURTHER:
                yield name, means or UNKNOWN, shape_of(whole)
        elif isinstance(scope.part, Architecture) and x.name in FIRST and _is_first(x, scope.part):
            yield name, FIRST[x.name], shape_of(x)


def _is_first(x: Tensor, part: Component) -> bool:
    """Return whether a tensor is the first input of a part."""
    return x.name == shape_line(part.shapes).inputs[0].name


def meaning_of(x: Tensor, scope: Scope) -> tuple[str, Tensor]:
    """Return the meaning of an input of a part, from the class of the part or of a part inside it, and the whole input.

    The first is "" if no class states it. Layers may each read a part of the whole input.
    """
    part = scope.part
    if isinstance(part, Component):
        inputs = [axes for axes in shape_line(part.shapes).inputs if axes.name in part.further_inputs]
        wholes = [
            (len(axes.dims), axes.name, each) for axes in inputs for each in views_of(x) if each.shape == axes.dims
        ]
        if wholes:
            _, name, whole = max(wholes, key=lambda found: found[0])
            return part.further_inputs[name], whole
        named = inputs if len(inputs) == 1 else [axes for axes in inputs if axes.name == x.root.name]
        if named and len(named[0].dims) == len(x.shape):
            return part.further_inputs[named[0].name], x
    inside = (item for item in scope.items if isinstance(item, Scope) and any(y.root is x.root for y in read_by(item)))
    return next((found for item in inside if (found := meaning_of(x, item))[0]), ("", x))


def views_of(x: Tensor) -> list[Tensor]:
    """Return a tensor and the tensors that it is a view of."""
    return [x, *(views_of(x.base) if x.base is not None else [])]
