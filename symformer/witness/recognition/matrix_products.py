"""Products with stored matrices: linear layers, and expert layers with routed tokens."""

from __future__ import annotations

from math import prod

from sympy import Expr, cancel

from ...catalogue.measured_model import Class
from ...language.shape_lines import Shape
from ...language.symbols import B, S
from ...ledger.facts import ONE, ZERO, Entry, OperationKind, Tensor, Weight
from ..dataflow_roles import LinearProduct, SelectedProduct
from .observations import LENGTHS, Observations, common_value, leading_axes, star


def linear(sights: Observations, row: Class, role: LinearProduct) -> Entry | None:
    """Return a linear layer: a product of its whole input with one stored matrix."""
    ran = row[0].rpartition(".")[0]
    for stored in sights.weights.get(role.weight, []):
        out, into = stored[1] if role.out_first else stored[1][::-1]
        length = leading_axes(row[1], into * out)
        if length is None:
            continue
        held, shared = weights(sights, row, ran, stored, role.bias or f"{ran}.bias", (out, into))
        idle = sights.gradients(row) == (ZERO, ZERO)  # no trained tensor depends on its output
        if idle:
            shared = (*(Weight(*each) for each in held), *shared)
        x = Tensor("x", (*length, into), grad=ZERO if idle else ONE)
        return sights.entry(
            OperationKind.LINEAR,
            ran,
            (x,),
            (*length, out),
            () if idle else held,
            shared=shared,
            logits=_logits(sights, ran),
            frozen=idle,
            turned=not role.out_first,
        )
    return None


def weights(
    sights: Observations, row: Class, module: str, stored: Class, bias: str, shape: Shape
) -> tuple[tuple[Class, ...], tuple[Weight, ...]]:
    """Return the matrix and the bias that a product in this module stores, and those that other operations store."""
    counts = sights.products.counts[row]

    def own(each: Class) -> bool:
        here = each[0].rpartition(".")[0] == module and sights.stored.counts[each] == counts
        return here and each not in sights.used

    held, shared = ([stored], []) if own(stored) else ([], [Weight(stored[0], shape)])
    for each in sights.weights.get(bias, []):
        if each[1] == (shape[0],):
            held, shared = ([*held, each], shared) if own(each) else (held, [*shared, Weight(*each)])
    return tuple(held), tuple(shared)


def _logits(sights: Observations, path: str) -> bool:
    return any(star(name) == path for name in sights.all[-1].seen.heads)


def experts(sights: Observations, row: Class, role: SelectedProduct) -> Entry | None:
    """Return an expert layer: a product of each token with the matrices that it selects from a stored table."""
    counts = sights.products.counts[row]
    for stored in sights.weights.get(role.weight, []):
        if len(stored[1]) != 3 or sights.stored.counts[stored] != counts or stored in sights.used:
            continue
        out, into = stored[1][1:] if role.out_first else stored[1][:0:-1]
        length = leading_axes(row[1], into * out)
        if length is None or len(length) != 2:
            continue
        tokens = next((size for size in LENGTHS if length[1].has(size)), None)
        if tokens is None or (chosen := cancel(length[1] / tokens)).has(tokens):
            continue
        some = (B, tokens, chosen)
        beside = [each for each in _beside(sights, stored, out) if each not in sights.used]
        read = (B, tokens) if _alike(sights, row) else some
        x, weights = Tensor("x", (*read, into), grad=ONE), Tensor("chosen", some, grad=ONE)
        return sights.entry(
            OperationKind.EXPERTS, role.weight, (x, weights), (*some, out), (stored, *beside), turned=not role.out_first
        )
    return None


def _beside(sights: Observations, stored: Class, out: Expr) -> list[Class]:
    """Return the bias table of the experts: in the same module, with the matrices' name as its prefix."""
    path, (rows, *_) = stored
    module = path.rpartition(".")[0]
    picked = {star(name) for name in sights.all[-1].seen.picked}
    return [
        each
        for each in sights.stored.counts
        if each[0] in picked and each[0].rpartition(".")[0] == module and each[0].startswith(path)
        and each[1] == (rows, out) and sights.stored.counts[each] == sights.stored.counts[stored]
    ]  # fmt: skip


def _alike(sights: Observations, row: Class) -> bool:
    """Return True if all the matrices that a token selects have the same input, as a run with values showed."""
    real = sights.real
    if real is None:
        return False
    tokens = prod(real.numbers[size] for size in (B, S))
    distinct = real.seen.distinct.items()
    return (
        common_value(n for key, some in distinct if sights.classes.get((id(real), key)) == row for n in some) == tokens
    )
