"""Multi-head latent attention."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sympy import Expr, Integer

from ..language.sizes import Divides
from ..language.symbols import A, D_nope, D_rope, D_v, K_idx, R_kv, R_q
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from ..ledger.placement import Cut
from .base import Component
from .rms_norm import RMSNorm

CHOSEN = "A query attends only to the keys that an indexer chooses."
REUSED = "A query attends only to the keys that the indexer of an earlier layer has chosen."


@dataclass(frozen=True, kw_only=True)
class LatentAttention(Component):
    """Attention whose keys and values are projections of one latent of rank R_kv, DeepSeek-AI 2024 [deepseek2024],
    section 2.1.

    The paper's d_c, d'_c, n_h, d_h and d_h^R are R_kv, R_q, A, D_nope and D_rope. Values have their own width D_v. All
    heads share one rotary key of width D_rope. The cache contains the normalized latent and the rotary key.

    >>> LatentAttention().params
    E*A*D_v + A*R_q*D_nope + A*R_q*D_rope + A*R_kv*D_nope + A*R_kv*D_v + E*R_q + E*R_kv + E*D_rope + R_q + R_kv
    >>> LatentAttention().formula("kv-cache")
    2*B*C*R_kv + 2*B*C*D_rope
    """

    title = "Multi-head latent attention"
    role = "attention"
    purpose = "The cache can store one latent and one rotary key per token instead of the keys and values of all heads."
    constraints = (Divides(Integer(2), D_rope),)

    heads: Expr = A
    shared: Expr = D_rope  # the width of the key that all heads share
    positions: str = "rotary"  # the prefix of the names of the rotations, or "" without positions
    weight_dropout: str = ""  # the name of the dropout on the attention weights, or ""
    query_latent: bool = True  # whether queries are projections of a latent of rank R_q
    softmax: str = ""  # "float32" if the softmax is always computed in single precision
    indexer: Component | None = None  # chooses the keys that a query attends to; requires the query latent
    reused: bool = False  # whether a query attends to the keys that an earlier layer has chosen, a further input

    @property
    def shapes(self) -> str:  # type: ignore[override]  # angles and the choice of keys are additional inputs
        angles = f", angles[2,S,{self.shared}]" if self.positions else ""
        return f"x[B,S,E]{angles}{', chosen[B,1,S,S]' if self.reused else ''} -> y[B,S,E]"

    @property
    def about(self) -> str:
        """Return the description, with the choice of keys, or without rotary positions if there are none."""
        said = [super().about, *([CHOSEN] if self.indexer else []), *([REUSED] if self.reused else [])]
        said += ["All heads share the rotary part of the key."] if self.positions else []
        said += [] if self.positions else ["Queries and keys have no positions, and all heads share a part of the key."]
        return " ".join(said)

    def split(self, cut: Cut) -> LatentAttention:
        return replace(self, heads=cut.share(self.heads))

    def forward(self, ops: Operations, x: Tensor, *context: Tensor) -> Tensor:
        angles, reused = context[: bool(self.positions)], context[bool(self.positions) :]
        shared, width = self.shared, D_nope + self.shared
        compressed: Tensor | None = None
        if self.query_latent:
            compressed = ops.call("q_a_layernorm", RMSNorm(), ops.linear("q_a_proj", x, R_q, bias=False))
            q = ops.linear("q_b_proj", compressed, self.heads * width, bias=False)
        else:
            q = ops.linear("q_proj", x, self.heads * width, bias=False)
        q = ops.heads(q, self.heads, width)
        latent, k_shared = ops.split(ops.linear("kv_a_proj_with_mqa", x, R_kv + shared, bias=False), (R_kv, shared))
        latent = ops.call("kv_a_layernorm", RMSNorm(), latent)
        k_shared = ops.heads(k_shared, Integer(1), shared)
        pieces: list[Tensor] = []
        if self.positions:
            q_nope, q_rope = ops.split(q, (D_nope, shared))
            pieces = [q_nope, ops.rotate(f"{self.positions}_query", q_rope, *angles)]
            k_shared = ops.rotate(f"{self.positions}_key", k_shared, *angles)

        both = ops.linear("kv_b_proj", latent, self.heads * (D_nope + D_v), bias=False, recalled=True)
        k_nope, v = ops.split(ops.heads(both, self.heads, D_nope + D_v), (D_nope, D_v))
        q = ops.concatenate("query", *pieces) if pieces else q
        k = ops.concatenate("key", k_nope, k_shared)
        latents = (latent, k_shared)
        masks = reused if self.indexer is None else (ops.call("indexer", self.indexer, x, compressed, *angles),)
        chosen = K_idx if masks else None
        scores = ops.scores("scores", q, k, "causal", latent=latents, chosen=chosen)
        for mask in masks:
            scores = ops.add("chosen_scores", scores, mask)
        weights = ops.softmax("softmax", scores, self.softmax)
        if self.weight_dropout:
            weights = ops.dropout(self.weight_dropout, weights)
        layout = "by head" if pieces else ""  # a token's heads are not contiguous in joined queries
        mixed = ops.weighted_values("mix", weights, v, "causal", latent=latents, chosen=chosen, function=layout)
        y = ops.merge(mixed)
        return ops.linear("o_proj", y, x.width, bias=False)
