"""Segment (token type) embedding."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Expr

from ..language.symbols import E, V_type
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component


@dataclass(frozen=True, kw_only=True)
class SegmentEmbedding(Component):
    """One row of E elements for each segment that a token can belong to, Devlin et al. 2019 [devlin2019], section 3.

    >>> SegmentEmbedding().params
    V_type*E
    """

    title = "Segment embedding"
    role = "embeddings"
    shapes = "segments[B,S] -> x[B,S,E]"

    rows: Expr = V_type
    width: Expr = E

    def forward(self, ops: Operations, segments: Tensor) -> Tensor:
        return ops.lookup("", segments, self.rows, self.width, "segments")
