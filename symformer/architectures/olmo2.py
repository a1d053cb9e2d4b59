"""OLMo 2."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components.base import Component
from ..components.res_post_norm_block import ResPostNormBlock
from ..components.rms_norm import RMSNorm
from ..language.symbols import A, D, E, G, H, L, V
from .base import Field, Fields, Switch, Witness
from .bases.hub import NO_TABLE, heads, usual
from .bases.llama_like import OPTIONS, LlamaLike


@dataclass(frozen=True, kw_only=True)
class OLMo2(LlamaLike):
    """OLMo 2, Team OLMo 2025 [olmo2025], section 2: norms on what attention and the MLP give, and on queries and keys.

    >>> OLMo2().params
    2*L*E*A*D + 2*L*E*G*D + 3*L*E*H + L*A*D + L*G*D + 2*L*E + 2*V*E + E
    """

    title = "OLMo 2"
    tables = "rotary_single"
    fields = Fields(
        usual({V: 50304, E: 4096, H: 11008, L: 32, A: 32, G: A, D: Field(("head_dim",), E / A)}),
        {**OPTIONS, "attention_bias": Switch("attention_bias", False)},
        model_types=("olmo2",),
        classes=heads("Olmo2"),
        rotary=True,
        inert=(NO_TABLE,),
    )
    witness = Witness(
        "transformers", "Olmo2Config", prefix="model.", arguments={"pad_token_id": 0}
    )  # a token of any table
    variants = ({}, {"tied": True}, {"attention_bias": True}, {"head": "none"})

    attention_bias: bool = False

    @property
    def norm(self) -> Component:
        return RMSNorm(late=True)

    @property
    def attention(self) -> Component:
        bias = self.attention_bias
        return replace(self.rotary_attention, joint_norm=self.norm, bias=bias, output_bias=bias)

    def layer_of(self, attention: Component, mlp: Component) -> Component:
        first = {"self_attn": attention, "post_attention_layernorm": self.norm}
        return ResPostNormBlock(parts={**first, "mlp": mlp, "post_feedforward_layernorm": self.norm})
