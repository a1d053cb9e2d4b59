"""The lightning indexer of sparse attention."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Expr, Integer

from ..language.sizes import AtMost, Divides
from ..language.symbols import A_idx, D_idx, D_rope, K_idx
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component
from .layer_norm import LayerNorm


@dataclass(frozen=True, kw_only=True)
class LightningIndexer(Component):
    """An indexer that chooses K_idx keys for each query, DeepSeek-AI 2025 [deepseek2025], section 2.1, eq. 1. Its A_idx
    heads of width D_idx share one key. They score every key with a ReLU of its product with the query, and the keys
    with the largest weighted sums of scores over the heads are chosen. Its queries are projections of the query latent
    of the attention. As in the transformers class, no gradients are computed in it.

    The paper's H^I, d^I and k are A_idx, D_idx and K_idx.

    >>> LightningIndexer().params
    A_idx*D_idx*R_q + E*A_idx + E*D_idx + 2*D_idx
    >>> LightningIndexer().formula("kv-cache")
    2*B*C*D_idx
    """

    title = "Lightning indexer"
    role = "attention"
    purpose = "The indexer chooses a few keys for each query, so that attention over long sequences costs less."
    shapes = "x[B,S,E], c[B,S,R_q], angles[2,S,D_rope] -> m[B,1,S,S]"
    further_inputs = {"c": "is the latent of the queries"}
    constraints = (Divides(Integer(2), D_rope), AtMost(D_rope, D_idx))

    heads: Expr = A_idx
    head_width: Expr = D_idx

    def forward(self, ops: Operations, x: Tensor, compressed: Tensor, angles: Tensor) -> Tensor:
        with ops.detached():
            k = ops.call("k_norm", LayerNorm(), ops.linear("wk", x, self.head_width, bias=False))
            k = ops.rotate("rotary_key", ops.heads(k, Integer(1), self.head_width), angles)
            q = ops.linear("wq_b", compressed, self.heads * self.head_width, bias=False)
            q = ops.rotate("rotary_query", ops.heads(q, self.heads, self.head_width), angles)
            scores = ops.activation("relu", ops.scores("scores", q, k, "causal"), "relu", module=False)
            weights = ops.scale("head_weights", ops.linear("weights_proj", x, self.heads, bias=False), "over root")
            return ops.choose_keys("top_k", scores, weights, K_idx)
