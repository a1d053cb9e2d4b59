"""Pipeline stages: the operations of one stage, with the tensors that it receives and sends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast

from sympy import Symbol

from ..language.errors import RuleError
from ..language.symbols import L
from .facts import ONE, Entry, Ledger, OperationKind, Scope, Tensor, Weight


def stage(root: Scope, which: str) -> Scope:
    """Return one pipeline stage: its layers, with the operations before (first stage) or after them (last stage).

    Stages divide the last layers of a model; a vision tower belongs to the first stage. The number of layers of each
    kind stays as it is in the given scope.

    Parameters
    ----------
    root : Scope
        The scope of the whole model.
    which : str
        ``"first"``, ``"middle"`` or ``"last"``.

    Raises
    ------
    RuleError
        If the model has no repeated layers, or if the layers or the operations after them read a tensor that is
        computed before the layers.

    """
    title = root.part.title
    kinds, before, after = _divided(root)
    made = {id(entry.output) for entry in before if entry.kind is not OperationKind.POSITIONS}
    for entry in [*(each for kind in kinds for each in _entries(kind)), *after]:
        for x in entry.inputs:
            if id(x.root) in made:
                raise RuleError(
                    f"{title}: {entry.path} reads {x.root.name}, which is computed before the layers; a pipeline stage "
                    "receives only the output of the previous layer"
                )
    found = _rebuilt(root, which)
    if which != "last":
        return found
    own = {weight for _, weight in Ledger(found, None).weights}
    return _each(found, lambda entry: _copied(entry, own))


def layer_counts(ledger: Ledger) -> tuple[Symbol, ...]:
    """Return the size that counts the layers of each kind that pipeline stages divide.

    Parameters
    ----------
    ledger : Ledger
        The ledger of a model.

    Raises
    ------
    RuleError
        If the model has no repeated layers, layers that share weights, a number of layers that is not a size of its
        own, or an operation whose shape depends on the number of layers.

    """
    root = ledger.apart.root
    kinds = _divided(root)[0]
    if any(kind.distinct is not None for kind in kinds):
        raise RuleError(f"{root.part.title}: layers that share weights are not supported with pipeline stages")
    counts = [kind.count for kind in kinds]
    if odd := [count for count in counts if not isinstance(count, Symbol)]:
        raise RuleError(f"{root.part.title}: pipeline stages do not support a list of {odd[0]} layers")
    for _, entry in ledger:
        shapes = [*(weight.shape for weight in entry.weights), *(x.shape for x in (*entry.inputs, entry.output))]
        if any(dim.has(L, *counts) for shape in shapes for dim in shape):
            raise RuleError(f"{entry.path} depends on the number of all layers, which pipeline stages do not support")
    return tuple(counts)


def _rebuilt(scope: Scope, which: str) -> Scope:
    """Return a scope with the operations of one stage only."""
    first, end = _place(scope)
    before, inner, after = scope.items[:first], scope.items[first:end], scope.items[end:]
    tables = [item for item in before if isinstance(item, Entry) and item.kind is OperationKind.POSITIONS]
    start = before if which == "first" else tables
    finish = after if which == "last" else []
    layers = [cast(Scope, each) for each in inner]
    if layers[0].loop is None:
        return replace(scope, items=[*start, _rebuilt(layers[0], which), *finish])
    given, own, first_output = layers[0].loop
    last = cast(tuple[Tensor, Tensor, Tensor], layers[-1].loop)[2]
    send = Entry(OperationKind.MOVE, "send", (last,), Tensor("send", last.shape, last, last.grad), function="send")
    if which == "first":
        return replace(scope, items=[*start, *layers, send])
    received = Tensor("receive", given.shape, None, ONE)
    receive = Entry(OperationKind.MOVE, "receive", (), received, function="receive")
    layers[0] = replace(layers[0], loop=(received, own, first_output))
    return replace(scope, items=[*start, receive, *layers, *([] if which == "last" else [send]), *finish])


def _divided(scope: Scope) -> tuple[list[Scope], list[Entry], list[Entry]]:
    """Return the layers that stages divide, with the operations before and after them."""
    first, end = _place(scope)
    before, inner, after = scope.items[:first], scope.items[first:end], scope.items[end:]
    layers = [cast(Scope, each) for each in inner]
    above, below = ([entry for item in items for entry in _entries(item)] for items in (before, after))
    if layers[0].loop is not None:
        return layers, above, below
    kinds, earlier, later = _divided(layers[0])
    return kinds, [*above, *earlier], [*later, *below]


def _place(scope: Scope) -> tuple[int, int]:
    """Return the places of the last layers, or of the part that has them, among the items of a scope."""
    inside = [
        index
        for index, item in enumerate(scope.items)
        if isinstance(item, Scope) and any(each.loop is not None for each in item.walk())
    ]
    if not inside:
        raise RuleError(f"{scope.part.title} has no repeated layers, which pipeline stages divide")
    last = cast(Scope, scope.items[inside[-1]])
    if last.loop is None or last.mixture is None:
        return inside[-1], inside[-1] + 1
    alike = [index for index in inside if cast(Scope, scope.items[index]).mixture == last.mixture]
    return alike[0], alike[-1] + 1


def _entries(item: Entry | Scope) -> list[Entry]:
    return [entry for _, entry in Ledger(item, None)] if isinstance(item, Scope) else [item]


def _copied(entry: Entry, own: set[Weight]) -> Entry:
    """Return an entry that stores its shared weights too, if another stage stores them."""
    missing = tuple(weight for weight in entry.shared if weight not in own)
    own.update(missing)
    return replace(entry, weights=(*entry.weights, *missing)) if missing else entry


def _each(scope: Scope, change: Callable[[Entry], Entry]) -> Scope:
    items = [_each(item, change) if isinstance(item, Scope) else change(item) for item in scope.items]
    return replace(scope, items=items)
