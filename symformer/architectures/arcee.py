"""Arcee."""

from __future__ import annotations

from dataclasses import dataclass

from ..components import MLP, Component
from ..language.symbols import A, D, E, G, H, L, V
from ..ledger.facts import Activation
from .base_architecture import HEADS_DIVIDE, Fields, Function, WitnessSpec, option, usual
from .bases.biased import BiasedThroughout


@dataclass(frozen=True, kw_only=True)
class Arcee(BiasedThroughout):
    """Arcee, Arcee AI 2025 [arcee2025]: Llama with squared ReLU without a gate.

    >>> Arcee().params
    2*L*E*A*D + 2*L*E*G*D + 2*L*E*H + 2*L*E + 2*V*E + E
    """

    title = "Arcee"
    config = Fields(
        usual({V: 32000, E: 2560, H: 18432, L: 32, A: 32, G: A, D: E / A}),
        inert=("pretraining_tp",),  # of Llama; the class does not read it
    )
    witness = WitnessSpec("Arcee", conditions=HEADS_DIVIDE)

    activation: Activation = option(Function("hidden_act", "relu2"))

    @property
    def mlp(self) -> Component:
        return MLP(bias=self.mlp_bias, activation=self.activation, up="up_proj", act="act_fn", down="down_proj")
