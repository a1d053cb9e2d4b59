"""The lightning indexer of attention to compressed keys."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Expr, Integer

from ..language.sizes import AtMost, Divides
from ..language.symbols import A_idx, C_csa, D_idx, D_rope, K_idx
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component
from .token_compressor import compressed


@dataclass(frozen=True, kw_only=True)
class CompressedIndexer(Component):
    """An indexer that chooses K_idx compressed keys for each query, DeepSeek-AI 2026 [deepseek2026], section 2.3.1,
    eqs. 13 to 17. It compresses the tokens to keys of its own, of width D_idx. Its A_idx heads score each of them with
    a ReLU of its product with the query, a projection of the query latent, and the keys with the largest weighted sums
    of scores over the heads are chosen. The choice has no gradient.

    The paper's n_h^I, c^I, m and k are A_idx, D_idx, C_csa and K_idx.

    >>> CompressedIndexer().params
    A_idx*D_idx*R_q + 2*C_csa*D_idx + E*A_idx + 4*E*D_idx + D_idx
    """

    title = "Lightning indexer of compressed keys"
    role = "attention"
    purpose = (
        "The indexer chooses a few compressed keys for each query, so that attention over long sequences costs less."
    )
    shapes = "x[B,S,E], c[B,S,R_q], angles[2,S,D_rope] -> m[B,1,S,floor(S/C_csa)]"
    further_inputs = {"c": "is the latent of the queries"}
    constraints = (Divides(Integer(2), D_rope), AtMost(D_rope, D_idx))

    heads: Expr = A_idx
    head_width: Expr = D_idx

    def forward(self, ops: Operations, x: Tensor, latent: Tensor, angles: Tensor) -> Tensor:
        with ops.detached():
            k = compressed(ops, x, C_csa, self.head_width, overlapping=True)
            q = ops.linear("q_b_proj", latent, self.heads * self.head_width, bias=False)
            q = ops.rotate("rotary_query", ops.heads(q, self.heads, self.head_width), angles)
            # The keys are compressed only.
            scores = ops.scores("scores", q, k, "causal", Integer(0), compressed=C_csa)
            scores = ops.activation("relu", scores, "relu", module=False)
            weights = ops.linear("scorer.weights_proj", x, self.heads, bias=False)
            weights = ops.scale("head_weights", weights, "over root")
            return ops.choose_keys("top_k", scores, weights, K_idx, function="by head")
