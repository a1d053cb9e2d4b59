"""Qwen3-MoE."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components.base import Component
from ..components.moe import MoE
from ..language.sizes import AtMost
from ..language.symbols import A, D, E, G, K, L, M, V, X
from .base import Field, Fields, Switch, Witness
from .bases.hub import ALL_EXPERTS, NO_DENSE, NO_TABLE, NO_WINDOW, heads, usual
from .bases.llama_like import OPTIONS, ROTARY_HEADS, LlamaLike

EXPERTS = {X: Field(("num_experts", "num_local_experts"), 128), K: 8, M: 768}


@dataclass(frozen=True, kw_only=True)
class Qwen3MoE(LlamaLike):
    """Qwen3-30B-A3B and 235B-A22B, Yang et al. 2025 [yang2025], section 2: Qwen3, and K of X experts a token.

    >>> Qwen3MoE().formula("active-params")
    3*L*E*K*M + 2*L*E*A*D + 2*L*E*G*D + L*E*X + 2*L*E + 2*L*D + 2*V*E + E
    """

    title = "Qwen3-MoE"
    constraints = (*ROTARY_HEADS, AtMost(K, X))
    fields = Fields(
        usual({V: 151936, E: 2048, **EXPERTS, L: 24, A: 32, G: 4, D: Field(("head_dim",), E / A)}),
        {**OPTIONS, "attention_bias": Switch("attention_bias", False)},
        model_types=("qwen3_moe",),
        classes=heads("Qwen3Moe"),
        fixed=ALL_EXPERTS,
        rotary=True,
        inert=(NO_TABLE, *NO_WINDOW, *NO_DENSE),
    )
    witness = Witness("transformers", "Qwen3MoeConfig", prefix="model.")
    variants = ({}, {"tied": True}, {"attention_bias": True}, {"head": "none"})

    attention_bias: bool = False

    @property
    def attention(self) -> Component:
        bias = self.attention_bias
        return replace(self.rotary_attention, head_norm=self.norm, bias=bias, output_bias=bias)

    @property
    def mlp(self) -> Component:
        return MoE(activation=self.activation)
