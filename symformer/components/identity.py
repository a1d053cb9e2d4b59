"""Identity."""

from __future__ import annotations

from dataclasses import dataclass

from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component


@dataclass(frozen=True, kw_only=True)
class Identity(Component):
    """The identity, in place of a part: Warner et al. 2024 [warner2024] omit the first norm.

    >>> Identity().params
    0
    """

    title = "Identity"
    role = "other"
    shapes = "x[...,E] -> y[...,E]"

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        return x
