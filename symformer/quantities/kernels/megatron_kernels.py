"""The kernels of Megatron-LM, as counted by Korthikanti et al. 2022, section 4."""

from __future__ import annotations

from ...language.errors import RuleError
from ...ledger.facts import ATTENDING, Entry, OperationKind
from ..quantity import Conventions, refuse_observed, refuse_others, rows
from .saves import Saver, Saves, dropout, linear, none, softmax


def reads(entry: Entry, conventions: Conventions) -> Saves:
    """Return the inputs: Megatron's kernels save only these, apart from negligible buffers."""
    return Saves(reads=entry.inputs)


def norm(entry: Entry, conventions: Conventions) -> Saves:
    return _only(entry, ("layer",))


def activation(entry: Entry, conventions: Conventions) -> Saves:
    return _only(entry, ("gelu", "gelu_new"))


def _only(entry: Entry, functions: tuple[str, ...]) -> Saves:
    if entry.function not in functions:
        raise RuleError(
            f"{entry.path}: implementation=megatron supports only {' and '.join(functions)}, not {entry.function}"
        )
    return Saves(reads=entry.inputs)


KERNELS: dict[OperationKind, Saver] = refuse_others(
    "implementation=megatron supports only the layers of its paper, without gates, rotary or fixed positions, poolers, "
    "convolutions, experts and scans",
    {
        **rows(none, OperationKind.LOOKUP, OperationKind.ADD, OperationKind.MOVE),
        OperationKind.LINEAR: linear,
        OperationKind.NORM: norm,
        OperationKind.ACTIVATION: activation,
        OperationKind.DROPOUT: dropout,
        **rows(reads, *ATTENDING),
        OperationKind.SOFTMAX: softmax,
        OperationKind.OBSERVED: refuse_observed,
    },
)
