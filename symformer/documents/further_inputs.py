"""The inputs that a part reads in addition to its first one, with what they are, such as the output of the encoder."""

from __future__ import annotations

from collections.abc import Iterator

from ..components.base import Component
from ..language.notation.display_tree import TensorName, Tree
from ..language.shape_lines import shape_line
from ..ledger.facts import Scope, Tensor
from .computation import names_of_inputs
from .ledger_dataflow import read_by
from .part_tensors import FURTHER
from .tensor_notation import shape_of

UNKNOWN = "is a further input of the part"


def further_inputs(scope: Scope) -> Iterator[tuple[TensorName, str, Tree]]:
    """Yield each input of a part that has no letter of its own: its name, what it is, and its shape."""
    for name, x in names_of_inputs(scope):
        if name.letter == FURTHER:
            yield name, meaning_of(x, scope) or UNKNOWN, shape_of(x)


def meaning_of(x: Tensor, scope: Scope) -> str:
    """Return what an input of a part is, from the class of the part or of a part inside it; "" if none states it."""
    part = scope.part
    if isinstance(part, Component):
        stated = [axes for axes in shape_line(part.shapes).inputs if axes.name in part.further_inputs]
        if len(stated) > 1:
            stated = [axes for axes in stated if axes.name == x.root.name]
        if stated and len(stated[0].dims) == len(x.shape):
            return part.further_inputs[stated[0].name]
    inside = (item for item in scope.items if isinstance(item, Scope) and any(y.root is x.root for y in read_by(item)))
    return next(filter(None, (meaning_of(x, item) for item in inside)), "")
