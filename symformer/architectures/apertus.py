"""Apertus."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from ..components import MLP, XIELU, Component, PreNormBlock, SelfAttention
from ..language.symbols import A, D, E, G, H, L, V
from .base_architecture import HEAD_WIDTH, Activation, Fields, WitnessSpec, usual
from .bases.biased import Biased


@dataclass(frozen=True, kw_only=True)
class Apertus(Biased):
    """Apertus, Project Apertus 2025 [apertus2025]: Llama with a norm on the queries and keys of each head, and an
    ungated feed-forward network whose activation, xIELU, has two parameters.

    >>> Apertus().params
    2*L*E*A*D + 2*L*E*G*D + 2*L*E*H + 2*L*E + 2*L*D + 2*V*E + 2*L + E
    """

    title = "Apertus"
    config = Fields(
        usual({V: 131072, E: 4096, H: 14336, L: 32, A: 32, G: A, D: HEAD_WIDTH}),
        fixed={"hidden_act": ("xielu",)},
    )
    witness = WitnessSpec("Apertus", arguments={"pad_token_id": None})  # any other value must be a token id

    activation: ClassVar[Activation] = "silu"  # type: ignore[misc]  # not an option: xIELU replaces it

    @property
    def rotary_attention(self) -> SelfAttention:
        return replace(super().rotary_attention, head_norm=self.norm)

    @property
    def mlp(self) -> Component:
        return MLP(bias=False, trained=XIELU(), up="up_proj", act="act_fn", down="down_proj")

    def layer_of(self, attention: Component, mlp: Component) -> Component:
        first = {"attention_layernorm": self.norm, "self_attn": attention}
        return PreNormBlock(parts={**first, "feedforward_layernorm": self.norm, "mlp": mlp})
