"""Qwen3."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components.base import Component
from ..language.symbols import A, D, E, G, H, L, V
from .base import Fields, Switch, Witness
from .bases.hub import NO_TABLE, NO_WINDOW, heads, usual
from .bases.llama_like import OPTIONS, LlamaLike


@dataclass(frozen=True, kw_only=True)
class Qwen3(LlamaLike):
    """Qwen3, Yang et al. 2025 [yang2025], section 2: Llama, with a norm on the queries and keys of each head.

    >>> Qwen3().params
    2*L*E*A*D + 2*L*E*G*D + 3*L*E*H + 2*L*E + 2*L*D + 2*V*E + E
    """

    title = "Qwen3"
    fields = Fields(
        usual({V: 151936, E: 4096, H: 22016, L: 32, A: 32, G: 32, D: 128}),
        {**OPTIONS, "attention_bias": Switch("attention_bias", False)},
        model_types=("qwen3",),
        classes=heads("Qwen3"),
        rotary=True,
        inert=(NO_TABLE, *NO_WINDOW),
    )
    witness = Witness("transformers", "Qwen3Config", prefix="model.")
    variants = ({}, {"tied": True}, {"attention_bias": True}, {"head": "none"})

    attention_bias: bool = False

    @property
    def attention(self) -> Component:
        bias = self.attention_bias
        return replace(self.rotary_attention, head_norm=self.norm, bias=bias, output_bias=bias)
