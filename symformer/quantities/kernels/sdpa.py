"""Torch's fused attention (sdpa in transformers)."""

from __future__ import annotations

from ...language.errors import RuleError
from ...ledger.facts import Entry, OperationKind
from ..quantity import Conventions
from .saves import SINGLE, SIZES, Saver, Saves, made
from .transformers_kernels import COMMON


def scores(entry: Entry, conventions: Conventions) -> Saves:
    """Return the queries and keys. Raises RuleError for scores that need a mask of numbers, or have a soft cap."""
    if entry.blocks:
        raise RuleError(
            f"{entry.path}: images whose tokens attend to each other in both directions are not supported with "
            "implementation=sdpa; choose implementation=eager"
        )
    if entry.capped:
        raise RuleError(
            f"{entry.path}: torch's fused attention has no soft cap on the scores; choose implementation=eager"
        )
    return Saves(entry.inputs)


def mix(entry: Entry, conventions: Conventions) -> Saves:
    """Return the values, the output and the log-sum-exp of each row in float32; the weights are never stored.

    An output by head is copied for the layer that reads it by token.
    """
    makes = [made(entry, "log-sum-exp", entry.inputs[0].shape[:3], SINGLE)]
    if entry.function == "by head":
        makes.append(made(entry, "output by token", entry.output.shape, SIZES[conventions["dtype"]]))
    return Saves(entry.inputs[1:], True, tuple(makes))


def softmax(entry: Entry, conventions: Conventions) -> Saves:
    """Return nothing: the weights are never stored. Raises RuleError for a softmax with a sink."""
    if entry.shared:
        raise RuleError(f"{entry.path}: torch's fused attention has no sinks; choose implementation=eager")
    return Saves()


KERNELS: dict[OperationKind, Saver] = {
    **COMMON,
    OperationKind.SCORES: scores,
    OperationKind.SOFTMAX: softmax,
    OperationKind.MIX: mix,
}
