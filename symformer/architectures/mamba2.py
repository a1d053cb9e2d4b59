"""Mamba-2."""

from __future__ import annotations

from dataclasses import dataclass

from ..components import ChunkedScan, Component
from ..language.sizes import Divides
from ..language.symbols import A_ssm, C_chunk, D_ssm, E, G_ssm, K_conv, L, N_state, V
from .base_architecture import BoolField, Fields, WitnessSpec, option, usual
from .bases.recurrent import MIXER, Recurrent


@dataclass(frozen=True, kw_only=True)
class Mamba2(Recurrent):
    """Mamba-2, Dao and Gu 2024 [dao2024], section 7.1: layers with a state-space mixer and nothing else.

    >>> Mamba2().formula("kv-cache")
    2*B*L*K_conv*A_ssm*D_ssm + 4*B*L*K_conv*G_ssm*N_state + 4*B*L*A_ssm*D_ssm*N_state
    """

    title = "Mamba-2"
    constraints = ChunkedScan.constraints
    config = Fields(
        usual(
            {V: 32768, E: 4096, L: 64, A_ssm: 128, D_ssm: 64, G_ssm: 8, N_state: 128, K_conv: 4, C_chunk: 256}, MIXER
        ),
        restated={"expand": A_ssm * D_ssm / E},
        inert=("time_step_limit", "time_step_rank"),  # no matrix has this rank
    )
    witness = WitnessSpec(
        "Mamba2", prefix="backbone.", arguments={"expand": A_ssm * D_ssm / E}, conditions=(Divides(E, D_ssm),)
    )
    variants = ({}, {"tied": True}, {"bias": True}, {"convolution_bias": False}, {"head": "none"})

    tied: bool = option(BoolField("tie_word_embeddings", False))

    @property
    def mixer(self) -> Component:
        return ChunkedScan(bias=self.bias, convolution_bias=self.convolution_bias, activation=self.activation)
