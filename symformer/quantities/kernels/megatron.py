"""The kernels of Megatron-LM, as Korthikanti et al. 2022 count them in section 4."""

from __future__ import annotations

from ...language.errors import RuleError
from ...ledger.facts import ATTENDING, Entry, Kind
from ..quantity import Conventions, refusing, rows, unseen
from .saves import Saver, Saves, dropout, linear, none, softmax


def reads(entry: Entry, conventions: Conventions) -> Saves:
    """Megatron's kernels keep what they read, and nothing of their own that is worth counting."""
    return Saves(reads=entry.inputs)


def norm(entry: Entry, conventions: Conventions) -> Saves:
    return _only(entry, ("layer",))


def activation(entry: Entry, conventions: Conventions) -> Saves:
    return _only(entry, ("gelu", "gelu_new"))


def _only(entry: Entry, functions: tuple[str, ...]) -> Saves:
    if entry.function not in functions:
        raise RuleError(
            f"{entry.path}: implementation=megatron is for {' and '.join(functions)}, and this is {entry.function}"
        )
    return Saves(reads=entry.inputs)


KERNELS: dict[Kind, Saver] = refusing(
    "implementation=megatron knows the layers that its paper counts, and those have no gates, no rotary or fixed "
    "positions, no poolers, no convolutions, no experts and no scans",
    {
        **rows(none, Kind.LOOKUP, Kind.ADD, Kind.MOVE),
        Kind.LINEAR: linear,
        Kind.NORM: norm,
        Kind.ACTIVATION: activation,
        Kind.DROPOUT: dropout,
        **rows(reads, *ATTENDING),
        Kind.SOFTMAX: softmax,
        Kind.OBSERVED: unseen,
    },
)
