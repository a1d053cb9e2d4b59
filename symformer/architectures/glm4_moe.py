"""GLM-4.5."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import SelfAttention
from ..language.sizes import AtMost
from ..language.symbols import A, D, D_rope, E, G, H, K, L_dense, L_moe, M, V, X, X_shared
from .base_architecture import HEAD_WIDTH, BoolField, Field, Fields, WitnessSpec, option, rotating, usual
from .bases.dense_first import DenseFirst
from .bases.llama_like import PARTLY_ROTARY

EXPERTS = {M: 1408, X: Field(("n_routed_experts", "num_local_experts"), 128), X_shared: 1, K: 8}
DEPTHS = {L_dense: 1, L_moe: Field(("num_hidden_layers",), 46, beside=L_dense)}
HEADS = {A: 96, G: 8, D: HEAD_WIDTH, D_rope: rotating(D, 0.5)}


@dataclass(frozen=True, kw_only=True)
class GLM4MoE(DenseFirst):
    """GLM-4.5, GLM-4.5 Team 2025 [glm2025], section 2.1: grouped-query attention, and the experts of DeepSeek-V3.

    Rotary positions apply to part of each head. In the released models, queries, keys and values have biases; the
    largest model also normalizes queries and keys. Like the transformers class, this one has no module for multi-token
    prediction.

    >>> GLM4MoE().formula("kv-cache")
    4*B*C*L*G*D
    """

    title = "GLM-4.5"
    compared_with = "dots1"
    constraints = (*PARTLY_ROTARY, AtMost(K, X))
    turned = D_rope
    config = Fields(
        usual({V: 151552, E: 4096, H: 10944, **EXPERTS, **DEPTHS, **HEADS}), fixed={"norm_topk_prob": (True,)}
    )
    # With one group, any number of experts is valid.
    witness = WitnessSpec("Glm4Moe", arguments={"n_group": 1, "topk_group": 1})
    variants = (
        {},
        {"attention_bias": True},
        {"attention_bias": True, "qk_norm": True},
        {"tied": True},
        {"head": "none"},
    )

    attention_bias: bool = option(BoolField("attention_bias", False))
    qk_norm: bool = option(BoolField("use_qk_norm", False))

    @property
    def attention(self) -> SelfAttention:
        norm = self.norm if self.qk_norm else None
        return replace(self.rotary_attention, bias=self.attention_bias, head_norm=norm)
