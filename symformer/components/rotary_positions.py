"""Rotary positions."""

from __future__ import annotations

from dataclasses import dataclass

from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component


@dataclass(frozen=True, kw_only=True)
class RotaryPositions(Component):
    """Queries and keys turned by their position, Su et al. 2021 [su2021], eq. 34: nothing is stored.

    >>> RotaryPositions().params
    0
    """

    title = "Rotary positions"
    role = "attention"
    shapes = "q[B,A,S,D], k[B,G,S,D], angles[2,S,D] -> q_rot[B,A,S,D], k_rot[B,G,S,D]"

    def forward(self, ops: Operations, q: Tensor, k: Tensor, angles: Tensor) -> tuple[Tensor, Tensor]:
        return ops.rotate("query", q, angles), ops.rotate("key", k, angles)
