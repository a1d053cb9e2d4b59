"""Kernels: the tensors that each implementation saves for every kind of operation, one implementation per file."""

from __future__ import annotations

from ...ledger.facts import OperationKind
from . import eager, megatron_kernels, sdpa
from .saves import Saver

IMPLEMENTATIONS: dict[str, dict[OperationKind, Saver]] = {
    "eager": eager.KERNELS,
    "sdpa": sdpa.KERNELS,
    "megatron": megatron_kernels.KERNELS,
}
