"""Distance embedding."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Expr

from ..language.symbols import A, P_rel
from ..ledger.facts import ONE, Tensor
from ..ledger.operations import Operations
from .base import Component


@dataclass(frozen=True, kw_only=True)
class DistanceEmbedding(Component):
    """A learned number per head for each of P_rel buckets of distances, Raffel et al. 2020 [raffel2020], section 2.1.

    The bucket of each distance is fixed: short distances have a bucket each, and long distances share buckets.

    >>> DistanceEmbedding().params
    P_rel*A
    """

    title = "Distance embedding"
    role = "embeddings"
    shapes = "distances[S,S] -> bias[1,A,S,S]"

    rows: Expr = P_rel
    heads: Expr = A

    def forward(self, ops: Operations, distances: Tensor) -> Tensor:
        x = ops.lookup("", distances, self.rows, self.heads, "distances")
        return x.view((ONE, self.heads, *distances.shape))
