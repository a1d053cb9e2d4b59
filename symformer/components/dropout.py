"""Dropout."""

from __future__ import annotations

from dataclasses import dataclass

from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component


@dataclass(frozen=True, kw_only=True)
class Dropout(Component):
    """Dropout, Srivastava et al. 2014 [srivastava2014], without parameters.

    >>> Dropout().params
    0
    """

    title = "Dropout"
    role = "other"
    shapes = "x[...,E] -> y[...,E]"

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        return ops.dropout("", x)
