"""Learned position embedding."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Expr

from ..language.symbols import E, P
from ..ledger.facts import ZERO, Tensor
from ..ledger.operations import Operations
from .base import Component


@dataclass(frozen=True, kw_only=True)
class PositionEmbedding(Component):
    """One learned row of E elements a position, Gehring et al. 2017 [gehring2017], section 3.1; the batch shares it.

    >>> PositionEmbedding().params
    P*E
    """

    title = "Learned position embedding"
    role = "embeddings"
    shapes = "positions[1,S] -> x[1,S,E]"

    rows: Expr = P
    width: Expr = E
    skipped: Expr = ZERO  # rows before the first position's, which no position reads

    def forward(self, ops: Operations, positions: Tensor) -> Tensor:
        return ops.lookup("", positions, self.rows, self.width, "positions", skipped=self.skipped)
