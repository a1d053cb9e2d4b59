"""GLM-4 9B."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import Component, GatedMLP
from ..language.symbols import A, D, D_rope, E, G, H, L, V
from .base_architecture import BoolField, Fields, WitnessSpec, option, rotating, unknown, usual
from .bases.llama_like import PARTLY_ROTARY, LlamaLike


@dataclass(frozen=True, kw_only=True)
class GLM(LlamaLike):
    """GLM-4 9B, Team GLM 2024 [glm2024], section 2: biases of queries, keys and values, partly rotary heads, and one
    matrix for the gate and up projections.

    >>> GLM().params
    2*L*E*A*D + 2*L*E*G*D + 3*L*E*H + L*A*D + 2*L*G*D + 2*L*E + 2*V*E + E
    """

    title = "GLM-4 9B"
    constraints = PARTLY_ROTARY
    turned = D_rope
    config = Fields(usual({V: 151552, E: 4096, H: 13696, L: 40, A: 32, G: 2, D: 128, D_rope: rotating(D, 0.5)}))
    witness = WitnessSpec(
        "Glm",
        arguments={"pad_token_id": None},  # otherwise it must be a token
        activation_refusal=unknown("the rotary angles, which each layer repeats,"),
    )
    variants = ({}, {"attention_bias": False}, {"tied": True}, {"head": "none"})

    attention_bias: bool = option(BoolField("attention_bias", True))

    @property
    def attention(self) -> Component:
        return replace(self.rotary_attention, bias=self.attention_bias)

    @property
    def mlp(self) -> Component:
        return GatedMLP(activation=self.activation, fused="gate_up_proj", act="activation_fn")
