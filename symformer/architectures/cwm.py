"""Code World Model."""

from __future__ import annotations

from dataclasses import dataclass

from ..components import Component, GatedMLP
from ..language.symbols import A, C_win, D, E, G, H, L_global, L_local, V
from .base_architecture import HEADS_DIVIDE, BoolField, Field, Fields, Layers, WitnessSpec, option, usual
from .bases.local_global import LocalGlobal

KINDS = {"sliding_attention": L_local, "full_attention": L_global}
PATTERN = ("full_attention", *("sliding_attention",) * 3)


@dataclass(frozen=True, kw_only=True)
class CWM(LocalGlobal):
    """Code World Model, FAIR CodeGen Team 2025 [fair2025], section 2: Llama 3 with a sliding window in three of four
    layers.

    >>> CWM().formula("kv-cache")
    4*B*L_local*G*D*min(C, C_win - 1) + 4*B*C*L_global*G*D
    """

    title = "Code World Model"
    config = Fields(
        usual({V: 128256, E: 6144, H: 21504, A: 48, G: 8, D: 128, C_win: 8192}),
        layers=Layers(KINDS, PATTERN, Field(("num_hidden_layers",), 64)),
        inert=("pretraining_tp",),
    )
    witness = WitnessSpec("Cwm", conditions=HEADS_DIVIDE)
    variants = ({}, {"tied": True}, {"mlp_bias": True}, {"head": "none"})

    mlp_bias: bool = option(BoolField("mlp_bias", False))

    @property
    def mlp(self) -> Component:
        return GatedMLP(bias=self.mlp_bias, activation=self.activation)
