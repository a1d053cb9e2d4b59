"""Llama."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components.base import Component
from ..components.gated_mlp import GatedMLP
from ..language.sizes import Divides
from ..language.symbols import A, D, E, G, H, L, V
from .base import Fields, Switch, Witness
from .bases.hub import NO_TABLE, heads, usual
from .bases.llama_like import OPTIONS, LlamaLike


@dataclass(frozen=True, kw_only=True)
class Llama(LlamaLike):
    """Llama 1, Touvron et al. 2023 [touvron2023], section 2.2; Llama 2 [touvron2023b] and Llama 3 [dubey2024] alike.

    A pre-norm decoder with RMS norms, rotary positions and a gated feed-forward network, without biases.

    >>> Llama().params
    2*L*E*A*D + 2*L*E*G*D + 3*L*E*H + 2*L*E + 2*V*E + E
    """

    title = "Llama"
    fields = Fields(
        usual({V: 32000, E: 4096, H: 11008, L: 32, A: 32, G: A, D: E / A}),
        {**OPTIONS, "attention_bias": Switch("attention_bias", False), "mlp_bias": Switch("mlp_bias", False)},
        model_types=("llama",),
        classes=heads("Llama"),
        rotary=True,
        inert=(NO_TABLE, "pretraining_tp"),  # how a linear layer was once cut for training
    )
    witness = Witness("transformers", "LlamaConfig", prefix="model.", conditions=(Divides(A, E),))
    variants = ({}, {"tied": True}, {"attention_bias": True}, {"mlp_bias": True}, {"head": "none"})

    attention_bias: bool = False
    mlp_bias: bool = False

    @property
    def attention(self) -> Component:
        return replace(self.rotary_attention, bias=self.attention_bias, output_bias=self.attention_bias)

    @property
    def mlp(self) -> Component:
        return GatedMLP(bias=self.mlp_bias, activation=self.activation)
