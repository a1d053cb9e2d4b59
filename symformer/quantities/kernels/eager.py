"""Eager attention of transformers, and traced saved tensors of such code."""

from __future__ import annotations

from ...formulas.account import Term
from ...language.errors import RuleError
from ...ledger.facts import ONE, SHIFTED_SOFTMAX, Entry, OperationKind
from ..quantity import Conventions, refuse_observed
from .saves import LONG, SINGLE, SIZES, Saver, Saves, capped, made, single, softmax
from .transformers_kernels import COMMON


def scores(entry: Entry, conventions: Conventions) -> Saves:
    """Return copies of queries and keys by head, for each query head, and the tensor that a soft cap saves."""
    q, k = entry.inputs
    heads, size = (*q.shape[:2], *k.shape[2:]), SIZES[conventions["dtype"]]
    copies = ((made(entry, "queries", q.shape, size), k.grad), (made(entry, "keys", heads, size), q.grad))
    return Saves(makes=capped(entry, conventions), partly=copies)


def weights(entry: Entry, conventions: Conventions) -> Saves:
    """Return the output, or the float32 output before the cast if the softmax runs in float32.

    With sinks, the output has one more column, which the class drops as a view. If the class subtracts the maximum of
    each row first, it saves the index of the maximum.
    """
    if entry.shared or entry.function == SHIFTED_SOFTMAX:
        if entry.function != SHIFTED_SOFTMAX:
            raise RuleError(f"{entry.path}: activation memory of this softmax with a sink is not supported")
        row = (*entry.output.shape[:-1], ONE)
        return Saves(output=True, makes=(made(entry, "maxima", row, LONG),))
    if entry.function == "float32" and not single(conventions):
        return Saves(makes=(made(entry, "in float32", entry.output.shape, SINGLE),))
    return softmax(entry, conventions)


def mix(entry: Entry, conventions: Conventions) -> Saves:
    """Return the attention weights, and a copy of the values by head."""
    p, v = entry.inputs
    values = made(entry, "values", (*p.shape[:2], *v.shape[2:]), SIZES[conventions["dtype"]])
    return Saves(partly=((p, v.grad), (values, p.grad)))


def observed(entry: Entry, conventions: Conventions) -> Saves:
    """Return a traced saved tensor. Raises RuleError if it was traced for another quantity."""
    if entry.measured != "activations":
        refuse_observed(entry, conventions)
    return Saves(makes=(Term(entry.path, entry.output.shape),))


KERNELS: dict[OperationKind, Saver] = {
    **COMMON,
    OperationKind.SCORES: scores,
    OperationKind.SOFTMAX: weights,
    OperationKind.MIX: mix,
    OperationKind.OBSERVED: observed,
}
