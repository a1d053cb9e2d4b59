"""OLMo."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components.base import Component
from ..components.layer_norm import LayerNorm
from ..language.symbols import A, D, E, G, H, L, V
from .base import Field, Fields, Switch, Witness
from .bases.hub import NO_TABLE, heads, usual
from .bases.llama_like import OPTIONS, LlamaLike


@dataclass(frozen=True, kw_only=True)
class OLMo(LlamaLike):
    """OLMo, Groeneveld et al. 2024 [groeneveld2024], section 2.1: Llama, with layer norms that store nothing.

    >>> OLMo().params
    2*L*E*A*D + 2*L*E*G*D + 3*L*E*H + 2*V*E
    """

    title = "OLMo"
    tables = "rotary_single"
    fields = Fields(
        usual({V: 50304, E: 4096, H: 11008, L: 32, A: 32, G: A, D: Field(("head_dim",), E / A)}),
        {**OPTIONS, "attention_bias": Switch("attention_bias", False)},
        model_types=("olmo",),
        classes=heads("Olmo"),
        fixed={"clip_qkv": (None,)},  # would keep which elements were clipped
        rotary=True,
        inert=(NO_TABLE,),
    )
    witness = Witness(
        "transformers", "OlmoConfig", prefix="model.", arguments={"pad_token_id": 0}
    )  # a token of any table
    variants = ({}, {"tied": True}, {"attention_bias": True}, {"head": "none"})

    attention_bias: bool = False

    @property
    def norm(self) -> Component:
        return LayerNorm(scale=False, bias=False, cast=True)

    @property
    def attention(self) -> Component:
        return replace(self.rotary_attention, bias=self.attention_bias, output_bias=self.attention_bias)
