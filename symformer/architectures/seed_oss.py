"""Seed-OSS."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import Component, GatedMLP, SelfAttention
from ..language.symbols import A, D, E, G, H, L, V
from .base_architecture import BoolField, Fields, ProbabilityField, WitnessSpec, option, usual
from .bases.llama_like import LlamaLike


@dataclass(frozen=True, kw_only=True)
class SeedOss(LlamaLike):
    """Seed-OSS, ByteDance Seed Team 2025 [bytedance2025]: Llama with biases on queries, keys and values, and
    dropout on the outputs of attention and the MLP.

    >>> SeedOss().params
    2*L*E*A*D + 2*L*E*G*D + 3*L*E*H + L*A*D + 2*L*G*D + 2*L*E + 2*V*E + E
    """

    title = "Seed-OSS"
    config = Fields(usual({V: 155136, E: 4096, H: 27648, L: 64, A: 80, G: 8, D: 128}), inert=("pretraining_tp",))
    witness = WitnessSpec("SeedOss", functions=("residual_dropout", "attention_dropout"))
    variants = ({}, {"attention_bias": False, "tied": True}, {"output_bias": True, "mlp_bias": True}, {"head": "none"})

    attention_bias: bool = option(BoolField("attention_bias", True))
    output_bias: bool = option(BoolField("attention_out_bias", False))
    mlp_bias: bool = option(BoolField("mlp_bias", False))
    attention_dropout: bool = option(ProbabilityField("attention_dropout", 0.1))
    residual_dropout: bool = option(ProbabilityField("residual_dropout", 0.1))

    @property
    def rotary_attention(self) -> SelfAttention:
        biased = replace(super().rotary_attention, bias=self.attention_bias, output_bias=self.output_bias)
        return replace(biased, output_dropout=self.dropped)

    @property
    def mlp(self) -> Component:
        return GatedMLP(bias=self.mlp_bias, activation=self.activation, dropout=self.dropped)

    @property
    def dropped(self) -> str:
        """Return the name of the dropout on the output of a sublayer, or ""."""
        return "residual_dropout" if self.residual_dropout else ""
