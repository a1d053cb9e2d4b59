"""Mamba-2."""

from __future__ import annotations

from dataclasses import dataclass

from ..components.base import Component
from ..components.chunked_scan import ChunkedScan
from ..language.sizes import Divides
from ..language.symbols import A_ssm, C_chunk, D_ssm, E, G_ssm, K_conv, L, N_state, V
from .base import Field, Fields, Switch, Witness
from .bases.hub import heads, usual
from .bases.recurrent import MIXER_INERT, MIXER_OPTIONS, Recurrent

HEADS = {A_ssm: Field(("num_heads",), 128), D_ssm: Field(("head_dim",), 64), G_ssm: Field(("n_groups",), 8)}


@dataclass(frozen=True, kw_only=True)
class Mamba2(Recurrent):
    """Mamba-2, Dao and Gu 2024 [dao2024], section 7.1: layers of a state space dual mixer alone, without attention.

    >>> Mamba2().formula("kv-cache")
    2*B*L*K_conv*A_ssm*D_ssm + 4*B*L*K_conv*G_ssm*N_state + 4*B*L*A_ssm*D_ssm*N_state
    """

    title = "Mamba-2"
    constraints = ChunkedScan.constraints
    fields = Fields(
        {
            **usual({V: 32768, E: 4096, L: 64}),
            **HEADS,
            N_state: Field(("state_size",), 128),
            K_conv: Field(("conv_kernel",), 4),
            C_chunk: Field(("chunk_size",), 256),
        },
        {"tied": Switch("tie_word_embeddings", False), **MIXER_OPTIONS},
        model_types=("mamba2",),
        classes=heads("Mamba2"),
        restated={"expand": A_ssm * D_ssm / E},
        inert=(*MIXER_INERT, "time_step_limit", "time_step_rank"),  # a rank that no matrix has
    )
    witness = Witness(
        "transformers",
        "Mamba2Config",
        prefix="backbone.",
        arguments={"expand": A_ssm * D_ssm / E},
        conditions=(Divides(E, D_ssm),),
    )
    variants = ({}, {"tied": True}, {"bias": True}, {"convolution_bias": False}, {"head": "none"})

    @property
    def mixer(self) -> Component:
        return ChunkedScan(bias=self.bias, convolution_bias=self.convolution_bias, activation=self.activation)
