"""Recurrent: layers with only a state-space mixer, with Mamba's names."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from sympy import Symbol, ceiling

from ...components import Component, PreNormBlock, RMSNorm
from ...configs.config_fields import BoolField, Field, Function, MultipleField
from ...configs.field_mapping import Fields
from ...language.symbols import A_ssm, C_chunk, D_ssm, E, G_ssm, K_conv, N_state
from ...ledger.facts import Activation
from ..base_architecture import Names, Variants, option
from .decoder import HubDecoder

# The config fields of a mixer's sizes.
MIXER: Mapping[Symbol, tuple[str, ...]] = {
    A_ssm: ("num_heads",),
    D_ssm: ("head_dim",),
    G_ssm: ("n_groups",),
    N_state: ("state_size",),
    K_conv: ("conv_kernel",),
    C_chunk: ("chunk_size",),
}
# The fields of Mamba's inner size and of the rank of its time steps.
INNER = MultipleField(("expand",), 2, of=E)
RANK = Field(("time_step_rank",), ceiling(E / 16), auto=True)


@dataclass(frozen=True, kw_only=True)
class Recurrent(HubDecoder):
    """The base of Mamba-like models. A subclass defines the mixer."""

    names = Names(table="embeddings", norm="norm_f")
    variants: ClassVar[Variants] = ({}, {"tied": False}, {"bias": True}, {"convolution_bias": False}, {"head": "none"})
    config = Fields(
        inert=(
            # weight initialization; the kernel of the scan
            *("time_step_scale", "time_step_min", "time_step_max", "time_step_init_scheme", "time_step_floor"),
            *("rescale_prenorm_residual", "use_mambapy", "use_associative_scan"),
            *("fused_add_norm", "rms_norm", "ssm_cfg", "pad_vocab_size_multiple"),  # not read by any built-in class
        )
    )

    tied: bool = option(BoolField("tie_word_embeddings", True))
    bias: bool = option(BoolField("use_bias", False))
    convolution_bias: bool = option(BoolField("use_conv_bias", True))
    activation: Activation = option(Function("hidden_act", "silu"))
    residual_in_float32: bool = option(BoolField("residual_in_fp32", True))

    @property
    @abstractmethod
    def mixer(self) -> Component:
        """Return the mixer of a layer."""

    @property
    def final_norm(self) -> Component:
        """Return the last norm. With a float32 residual stream, it multiplies float32 numbers by its scale."""
        return RMSNorm(late=self.residual_in_float32)

    @property
    def layer(self) -> Component:
        return PreNormBlock(parts={"norm": self.norm, "mixer": self.mixer}, float32=self.residual_in_float32)
