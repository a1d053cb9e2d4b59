"""Attention to a window of tokens and to compressed keys of all earlier tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from sympy import Expr, Integer

from ..language.sizes import AtMost, Condition, Divides
from ..language.symbols import A, C_csa, C_hca, C_win, D, D_rope, G_out, K_idx, R_out, R_q
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component
from .compressed_indexer import CompressedIndexer
from .rms_norm import RMSNorm
from .token_compressor import TokenCompressor

WINDOW = (
    "Attention within a sliding window of C_win tokens, DeepSeek-AI 2026 [deepseek2026], section 2.3. Its A heads of "
    "width D share one key, which is also the value, and queries are projections of a latent of rank R_q. The last "
    "D_rope elements of queries and keys are rotated by their positions, and the same elements of the output back "
    "by the position of the query. Each head has a learned sink logit that takes part in the softmax, Xiao et al. 2023 "
    "[xiao2023], section 3.3. The output projection has rank R_out for each of G_out groups of heads."
)
SPARSE = (
    "Queries also attend to compressed keys, one for each group of C_csa earlier tokens, of which an indexer chooses "
    "K_idx for each query."
)
TWICE = "As in transformers, the cache stores these keys twice, as keys and as values."
HEAVY = "Queries also attend to compressed keys, one for each group of C_hca earlier tokens."


@dataclass(frozen=True, kw_only=True)
class CompressedAttention(Component):
    """Attention within a sliding window and to compressed keys of earlier tokens, DeepSeek-AI 2026 [deepseek2026].

    The paper's n_win, m, m', c, d_c, g and d_g are C_win, C_csa, C_hca, D, R_q, G_out and R_out.

    >>> CompressedAttention(keys="window").params
    E*G_out*R_out + A*R_q*D + A*R_out*D + E*R_q + E*D + A + R_q + D
    >>> CompressedAttention(keys="heavy").formula("decode-flops").part("mix")
    2*B*A*D*min(C, C_win - 1) + 2*B*A*D*floor((C + 1)/C_hca) + 2*B*A*D
    """

    title = "Compressed attention"
    role = "attention"
    purpose = "Attention to compressed groups of tokens costs less for long sequences."

    heads: Expr = A
    keys: Literal["window", "sparse", "heavy"] = "sparse"  # the keys in addition to the window
    weight_dropout: str = ""  # the name of the dropout on the attention weights, or ""

    @property
    def constraints(self) -> tuple[Condition, ...]:  # type: ignore[override]  # depends on the indexer
        own = (Divides(Integer(2), D_rope), AtMost(D_rope, D), AtMost(Integer(2), C_win), Divides(G_out, A * D))
        return (*own, *(CompressedIndexer.constraints if self.keys == "sparse" else ()))

    @property
    def shapes(self) -> str:  # type: ignore[override]
        return "x[B,S,E], angles[2,S,D_rope] -> y[B,S,E]"

    @property
    def about(self) -> str:
        """Return the description, with the compressed keys."""
        return " ".join([WINDOW, *{"window": (TWICE,), "sparse": (SPARSE,), "heavy": (HEAVY,)}[self.keys]])

    def forward(self, ops: Operations, x: Tensor, angles: Tensor) -> Tensor:
        latent = ops.call("q_a_norm", RMSNorm(late=True), ops.linear("q_a_proj", x, R_q, bias=False))
        q = ops.heads(ops.linear("q_b_proj", latent, self.heads * D, bias=False), self.heads, D)
        q = ops.rotate("rotary_query", ops.call("q_b_norm", RMSNorm(scale=False, cast=False), q), angles)
        kv = ops.call("kv_norm", RMSNorm(late=True), ops.linear("kv_proj", x, D, bias=False))
        kv = ops.rotate("rotary_key", ops.heads(kv, Integer(1), D), angles)
        facts: dict[str, Any] = {"window": C_win}
        chosen: Tensor | None = None
        if self.keys != "window":
            sparse = self.keys == "sparse"
            rate = C_csa if sparse else C_hca
            entries = ops.call("compressor", TokenCompressor(rate=rate, overlapping=sparse), x)
            facts |= {"compressed": rate, "chosen": K_idx if sparse else None}
            kv = ops.append_keys("keys", kv, entries)
            chosen = ops.call("compressor.indexer", CompressedIndexer(), x, latent, angles) if sparse else None
        scores = ops.scores("scores", q, kv, "causal", **facts)
        scores = scores if chosen is None else ops.add_to_compressed("chosen_scores", scores, chosen)
        sinks = ops.parameter("", sinks=(self.heads,))
        weights = ops.softmax("softmax", scores, sinks=sinks)
        weights = ops.dropout(self.weight_dropout, weights) if self.weight_dropout else weights
        # The cache of transformers stores the keys of the window twice if there are no others.
        mixed = ops.weighted_values("mix", weights, kv, "causal", keyed=self.keys != "window", **facts)
        y = ops.merge(ops.rotate("rotary_output", mixed, angles, back=True))
        return ops.linear("o_b_proj", ops.grouped_linear("o_a_proj", y, G_out, R_out), x.width, bias=False)
