"""Shapes, names and views of tensors, as the lines of a computation show them."""

from __future__ import annotations

from collections.abc import Sequence

from sympy import Integer, expand

from ..language.notation.display_tree import Listed, Sum, TensorName, Tree, Word, tree
from ..ledger.facts import RESAMPLED, OperationKind, Scope, Tensor, Weight
from .ledger_dataflow import Item, entries_of

TABLES = {
    "tokens": "t",
    "layers": "t",
    "positions": "i",
    "segments": "s",
    "distances": "d",
    "classes": "c",
}  # the index into each table
STACKS = ("x", "z", "o")  # the outputs of repeated layers, a letter for each list in one computation


def is_read_in_parts(item: Item, view: Tensor) -> bool:
    """Return True if each of several layers reads its own part of a tensor."""
    return isinstance(item, Scope) and item.loop is not None and is_part(view)


def is_part(view: Tensor) -> bool:
    """Return True if a view has fewer axes than the tensor, so that each of several layers reads its own part."""
    return len(view.shape) < len(view.root.shape) or whole_view(view) is not view


def whole_view(view: Tensor) -> Tensor:
    """Return a view, or the view that has one part for each of several layers inside a part, given one of these."""
    base = view.base
    own = base is not None and base.base is not None and view.name != base.name and len(view.shape) < len(base.shape)
    return base if own and base is not None else view


def side_of(x: Tensor, images: bool = True) -> Word | None:
    """Return the subscript for an input of an encoder or for the patches of an image, from the sizes in its shape."""
    names = {size.name for axis in x.root.shape for size in axis.free_symbols}
    if any(name.endswith("_enc") for name in names):
        return Word("enc")
    return Word("img") if images and "Z" in names else None


def module_of(path: str) -> tuple[str, str]:
    """Return the module of a weight and its name in a line, the last word of the path."""
    module, _, last = path.rpartition(".")
    if last in ("weight", "bias"):
        return module, module.rpartition(".")[2]
    for end in ("_weight", "_bias"):  # parameters that are not in a module of their own
        path, last = path.removesuffix(end), last.removesuffix(end)
    return path, last


def table_of(x: Tensor, scope: Scope) -> str:
    """Return the kind of table that an input is an index into, or an empty string."""
    found = (each for each in entries_of(scope) if each.kind is OperationKind.LOOKUP and each.inputs[0].root is x)
    return next((each.function for each in found if each.function in TABLES), "")


def is_several(x: Tensor, scope: Scope) -> bool:
    """Return whether an input is an index of several rows for each position, whose mean is used."""
    means = [each.inputs[0].root for each in entries_of(scope) if each.function == RESAMPLED]
    return any(each.output.root in means and each.inputs[0].root is x for each in entries_of(scope))


def vector(weight: Weight) -> TensorName:
    """Return a weight that does not belong to a linear layer, by its name."""
    name = weight.path.removesuffix(".weight").rpartition(".")[2]
    return TensorName("W" if len([dim for dim in weight.shape if dim != 1]) > 1 else "w", name)


def shape_of(x: Tensor) -> Tree:
    return Listed(tuple(map(tree, x.shape)))


def side_by_side(pieces: Sequence[Tensor]) -> Tree:
    """Return the shape of a split tensor, with the last axis as the sum of its pieces' widths if all are used."""
    whole = pieces[0].base or pieces[0]
    widths = [piece.width for piece in pieces]
    if len(pieces) < 2 or expand(sum(widths, Integer(0)) - whole.width) != 0:
        return shape_of(whole)
    return Listed((*map(tree, whole.shape[:-1]), Sum(tuple(map(tree, widths)))))
