"""Identity."""

from __future__ import annotations

from dataclasses import dataclass

from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component


@dataclass(frozen=True, kw_only=True)
class Identity(Component):
    """Nothing, in the place of a part: where Warner et al. 2024 [warner2024] leave the first norm out.

    >>> Identity().params
    0
    """

    title = "Identity"
    role = "other"
    shapes = "x[...,E] -> y[...,E]"

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        return x
