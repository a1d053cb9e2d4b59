"""Relative attention."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sympy import Expr

from ..language.sizes import Divides
from ..language.symbols import A, D, E
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from ..ledger.placement import Cut
from .base import Component


@dataclass(frozen=True, kw_only=True)
class RelativeAttention(Component):
    """Attention with keys for tokens and keys for distances, Dai et al. 2019 [dai2019], section 3.3.

    A score is (q + u)·k + (q + v)·r, where k is the key of a token and r the key of a distance, a projection of
    sinusoids; u and v are biases of each head. All sequences share the keys of distances. They are not cached, and are
    recomputed with every new token.

    >>> RelativeAttention().params
    5*E**2 + 6*E
    """

    title = "Relative attention"
    role = "attention"
    purpose = "Scores depend on the distance between two tokens instead of their positions."
    shapes = "x[B,S,E], distances[1,S,E] -> y[B,S,E]"
    further_inputs = {"distances": "are the sines and cosines of the distances"}
    relations = {D: E / A}
    constraints = (Divides(A, E),)

    heads: Expr = A
    head_width: Expr = D
    bias: bool = True  # of the four projections of tokens, not of the projection of distances
    query: str = "q_proj"
    key: str = "k_proj"
    value: str = "v_proj"
    distance: str = "r_proj"
    output: str = "o_proj"

    def split(self, cut: Cut) -> RelativeAttention:
        return replace(self, heads=cut.share(self.heads))

    def forward(self, ops: Operations, x: Tensor, distances: Tensor) -> Tensor:
        width = self.heads * self.head_width
        q, k, v = (ops.linear(name, x, width, bias=self.bias) for name in (self.query, self.key, self.value))
        r = ops.linear(self.distance, distances, width, bias=False, recalled=True)
        q, k, v, r = (ops.heads(each, self.heads, self.head_width) for each in (q, k, v, r))
        biases = ops.parameter("", u=(self.heads, self.head_width), v=(self.heads, self.head_width))
        per_token, per_distance = (
            ops.add(f"query_{name}", q, ops.read(weight, 1, self.heads, 1, self.head_width))
            for name, weight in biases.items()
        )
        scores = ops.add(
            "sum",
            ops.scores("scores", per_token, k, "causal"),
            ops.scores("distance_scores", per_distance, r, "causal", scale="distances", recalled=True),
        )
        y = ops.merge(ops.weighted_values("mix", ops.softmax("softmax", scores), v, "causal"))
        return ops.linear(self.output, y, x.width, bias=self.bias)
