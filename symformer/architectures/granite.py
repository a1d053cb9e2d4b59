"""Granite."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components.base import Component
from ..components.gated_mlp import GatedMLP
from ..language.symbols import A, D, E, G, H, L, V
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Field, Fields, Switch, Witness
from .bases.hub import NO_TABLE, heads, usual
from .bases.llama_like import OPTIONS, LlamaLike

BIASES = {"attention_bias": Switch("attention_bias", False), "mlp_bias": Switch("mlp_bias", False)}


@dataclass(frozen=True, kw_only=True)
class Granite(LlamaLike):
    """Granite 3.0, Granite Team 2024 [granite2024]: Llama, scaled by numbers at four places.

    >>> Granite().params
    2*L*E*A*D + 2*L*E*G*D + 3*L*E*H + 2*L*E + 2*V*E + E
    """

    title = "Granite"
    fields = Fields(
        usual({V: 32000, E: 4096, H: 11008, L: 32, A: 32, G: A, D: Field(("head_dim",), E / A)}),
        {**OPTIONS, **BIASES},
        model_types=("granite",),
        classes=heads("Granite"),
        rotary=True,
        inert=(NO_TABLE, "embedding_multiplier", "attention_multiplier", "residual_multiplier", "logits_scaling"),
    )
    witness = Witness("transformers", "GraniteConfig", prefix="model.")
    variants = ({}, {"tied": True}, {"attention_bias": True}, {"mlp_bias": True}, {"head": "none"})

    attention_bias: bool = False
    mlp_bias: bool = False

    @property
    def attention(self) -> Component:
        return replace(self.rotary_attention, bias=self.attention_bias, output_bias=self.attention_bias)

    @property
    def mlp(self) -> Component:
        return GatedMLP(bias=self.mlp_bias, activation=self.activation)

    @property
    def layer(self) -> Component:
        return replace(self.pre_norm_layer(self.attention, self.mlp), scale="residual_multiplier")

    def embed(self, ops: Operations, tokens: Tensor) -> Tensor:
        return ops.scale("embedding_multiplier", super().embed(ops, tokens))

    def finish(self, ops: Operations, x: Tensor) -> Tensor:
        logits = super().finish(ops, x)
        return ops.scale("logits_scaling", logits, logits=True) if self.head == "lm" else logits
