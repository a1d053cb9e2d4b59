"""Attention written out, which transformers calls eager; and what torch was seen to keep of such code."""

from __future__ import annotations

from ...formulas.account import Term
from ...ledger.facts import Entry, Kind
from ..quantity import Conventions, unseen
from .common import COMMON
from .saves import SINGLE, SIZES, Saver, Saves, made, single, softmax


def scores(entry: Entry, conventions: Conventions) -> Saves:
    """Queries and keys, copied by head; keys of a group are copied for each of its heads."""
    q, k = entry.inputs
    heads, size = (*q.shape[:2], *k.shape[2:]), SIZES[conventions["dtype"]]
    return Saves(makes=(made(entry, "queries", q.shape, size), made(entry, "keys", heads, size)))


def weights(entry: Entry, conventions: Conventions) -> Saves:
    """Its output; where it is computed in single precision, that output before it is cast."""
    if entry.function == "float32" and not single(conventions):
        return Saves(makes=(made(entry, "in float32", entry.output.shape, SINGLE),))
    return softmax(entry, conventions)


def mix(entry: Entry, conventions: Conventions) -> Saves:
    """The weights, and the values copied by head."""
    p, v = entry.inputs
    values = made(entry, "values", (*p.shape[:2], *v.shape[2:]), SIZES[conventions["dtype"]])
    return Saves((p,), makes=(values,))


def observed(entry: Entry, conventions: Conventions) -> Saves:
    """What torch was seen to keep."""
    if entry.measured != "activations":
        unseen(entry, conventions)
    return Saves(makes=(Term(entry.path, entry.output.shape),))


KERNELS: dict[Kind, Saver] = {
    **COMMON,
    Kind.SCORES: scores,
    Kind.SOFTMAX: weights,
    Kind.MIX: mix,
    Kind.OBSERVED: observed,
}
