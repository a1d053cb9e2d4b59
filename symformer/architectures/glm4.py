"""GLM-4."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components.base import Component
from ..components.gated_mlp import GatedMLP
from ..components.sandwich_block import SandwichBlock
from ..language.symbols import A, D, D_rope, E, G, H, L, V
from .base import Fields, Share, Switch, Witness, option, usual
from .bases.llama_like import PARTLY_ROTARY, LlamaLike

TURNED = Share(("partial_rotary_factor",), of=D, part=0.5)


@dataclass(frozen=True, kw_only=True)
class GLM4(LlamaLike):
    """GLM-4, Team GLM 2024 [glm2024], section 2; its second form, with a norm on both sides of each sublayer.

    Queries, keys and values have biases, a part of each head turns, and one matrix gives the gate and what it opens.

    >>> GLM4().params
    2*L*E*A*D + 2*L*E*G*D + 3*L*E*H + L*A*D + 2*L*G*D + 4*L*E + 2*V*E + E
    """

    title = "GLM-4"
    constraints = PARTLY_ROTARY
    turned = D_rope
    config = Fields(usual({V: 151552, E: 4096, H: 13696, L: 40, A: 32, G: 2, D: 128, D_rope: TURNED}))
    witness = Witness(
        "Glm4",
        arguments={"pad_token_id": None},  # else it has to be a token
        unread="what the class keeps of the angles that each layer repeats for itself is not known",
    )
    variants = ({}, {"attention_bias": False}, {"tied": True}, {"head": "none"})

    attention_bias: bool = option(Switch("attention_bias", True))

    @property
    def layer(self) -> Component:
        return SandwichBlock(
            parts={
                "input_layernorm": self.norm,
                "self_attn": replace(self.rotary_attention, bias=self.attention_bias),
                "post_self_attn_layernorm": self.norm,
                "post_attention_layernorm": self.norm,
                "mlp": GatedMLP(activation=self.activation, fused="gate_up_proj", act="activation_fn"),
                "post_mlp_layernorm": self.norm,
            }
        )
