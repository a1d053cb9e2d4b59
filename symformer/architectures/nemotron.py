"""Nemotron-4."""

from __future__ import annotations

from dataclasses import dataclass

from ..components import MLP, Component, LayerNorm
from ..language.symbols import A, D, D_rope, E, G, H, L, V
from ..ledger.facts import Activation
from .base_architecture import BoolField, Fields, Function, WitnessSpec, option, rotating, unknown, usual
from .bases.biased import Biased
from .bases.llama_like import PARTLY_ROTARY


@dataclass(frozen=True, kw_only=True)
class Nemotron(Biased):
    """Nemotron-4, Parmar et al. 2024 [parmar2024], section 2: layer norms, squared ReLU without a gate, and partly
    rotary heads.

    >>> Nemotron().params
    2*L*E*A*D + 2*L*E*G*D + 2*L*E*H + 4*L*E + 2*V*E + 2*E
    """

    title = "Nemotron-4"
    constraints = PARTLY_ROTARY
    turned = D_rope
    norm = LayerNorm(offset=True)
    config = Fields(
        usual({V: 256000, E: 6144, H: 24576, L: 32, A: 48, G: None, D: E / A, D_rope: rotating(D, 0.5)}),
        restated={"kv_channels": D},
        inert=("norm_eps",),
    )
    witness = WitnessSpec("Nemotron", activation_refusal=unknown("its layer norm, which adds 1 to its scale,"))
    variants = (*Biased.variants, {"mlp_bias": True})

    activation: Activation = option(Function("hidden_act", "relu2"))
    mlp_bias: bool = option(BoolField("mlp_bias", False))

    @property
    def mlp(self) -> Component:
        return MLP(bias=self.mlp_bias, activation=self.activation, up="up_proj", act="act_fn", down="down_proj")
