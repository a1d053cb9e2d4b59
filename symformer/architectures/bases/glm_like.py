"""GLMLike: LlamaLike with biases on queries, keys and values, partly rotary heads, and a fused gate projection."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from ...components import Component, GatedMLP
from ...configs.config_fields import BoolField
from ...configs.field_mapping import Fields
from ...configs.usual_fields import rotating, usual
from ...language.symbols import A, D, D_rope, E, G, H, L, V
from ...ledger.facts import REPEATED_ROTARY
from ..base_architecture import Variants, option
from .llama_like import PARTLY_ROTARY, LlamaLike


@dataclass(frozen=True, kw_only=True)
class GLMLike(LlamaLike):
    """The base of the dense models of GLM-4, whose configs have the same fields and defaults."""

    constraints = PARTLY_ROTARY
    turned = D_rope
    tables = REPEATED_ROTARY
    config = Fields(usual({V: 151552, E: 4096, H: 13696, L: 40, A: 32, G: 2, D: 128, D_rope: rotating(D, 0.5)}))
    variants: ClassVar[Variants] = ({}, {"attention_bias": False}, {"tied": True}, {"head": "none"})

    attention_bias: bool = option(BoolField("attention_bias", True))

    @property
    def attention(self) -> Component:
        return replace(self.rotary_attention, bias=self.attention_bias)

    @property
    def mlp(self) -> Component:
        return GatedMLP(activation=self.activation, fused="gate_up_proj", act="activation_fn")
