"""Disentangled attention."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from sympy import Expr

from ..language.sizes import Divides
from ..language.symbols import A, D, E
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from ..ledger.placement import Cut
from .base import Component


@dataclass(frozen=True, kw_only=True)
class DisentangledAttention(Component):
    """Attention with separate scores for tokens and distances, He et al. 2021 [he2021], section 3.1, eq. 4.

    A score is the sum of three products, divided by the square root of 3D: of the query and the key of two tokens, of
    the query of a token and the key of a distance, and of the key of a token and the query of a distance. The
    projections of tokens also give the queries and keys of the 2·P_rel distances.

    >>> DisentangledAttention().params
    4*E**2 + 4*E
    """

    title = "Disentangled attention"
    role = "attention"
    purpose = "Scores depend on the content of the tokens and on their distance separately."
    shapes = "x[B,S,E], distances[1,2*P_rel,E] -> y[B,S,E]"
    further_inputs = {"distances": "are the embeddings of the distances"}
    relations = {D: E / A}
    constraints = (Divides(A, E),)

    heads: Expr = A
    head_width: Expr = D
    query: str = "self.query_proj"
    key: str = "self.key_proj"
    value: str = "self.value_proj"
    output: str = "output.dense"
    distance_dropout: str = ""  # the name of the dropout on the distances, or ""
    weight_dropout: str = ""  # the name of the dropout on the attention weights, or ""
    output_dropout: str = ""

    def split(self, cut: Cut) -> DisentangledAttention:
        return replace(self, heads=cut.share(self.heads))

    def forward(self, ops: Operations, x: Tensor, distances: Tensor) -> Tensor:
        width = self.heads * self.head_width
        stored = {name: ops.parameter(name, weight=(width, x.width), bias=(width,)) for name in (self.query, self.key)}
        q, k = (ops.linear(name, x, width, shared=shared) for name, shared in stored.items())
        v = ops.linear(self.value, x, width)
        if self.distance_dropout:
            distances = ops.dropout(self.distance_dropout, distances)
        far_q, far_k = (ops.linear(name, distances, width, shared=shared) for name, shared in stored.items())
        q, k, v, far_q, far_k = (ops.heads(each, self.heads, self.head_width) for each in (q, k, v, far_q, far_k))
        scores = ops.scores("scores", q, ops.scale("scaled_keys", k), "none", scale="none")
        content = self._by_distance(ops, "content_to_position", q, far_k, "query")
        position = self._by_distance(ops, "position_to_content", k, far_q, "key")
        scores = ops.add("sum", scores, ops.add("distance_scores", content, position))
        weights = ops.softmax("softmax", scores)
        if self.weight_dropout:
            weights = ops.dropout(self.weight_dropout, weights)
        y = ops.linear(self.output, ops.merge(ops.weighted_values("mix", weights, v, "none")), x.width)
        return ops.dropout(self.output_dropout, y) if self.output_dropout else y

    def _by_distance(
        self, ops: Operations, name: str, x: Tensor, distances: Tensor, by: Literal["query", "key"]
    ) -> Tensor:
        """Return for each query and key the scaled score of a token and their distance."""
        scores = ops.scores(name, x, distances, "none", scale="none")
        return ops.scale(f"{name}_scaled", ops.gather(f"{name}_gathered", scores, x.shape[2], by))
