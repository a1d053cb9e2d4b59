"""Hybrid: LlamaLike with state-space mixers (Mamba-2), in addition to attention or instead of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from sympy import Symbol

from ...components import ChunkedScan, Component, PreNormBlock
from ...configs.config_fields import BoolField, Field
from ...configs.field_mapping import Fields
from ...language.symbols import A_ssm, C_chunk, D_ssm, E, G_ssm, K_conv, L_attn, L_ssm, N_state
from ..base_architecture import Variants, option
from .biased import Biased
from .stacked import Stack

# The fields of a mixer's sizes, and their defaults.
HYBRID_MIXER: Mapping[Symbol, Field] = {
    A_ssm: Field(("mamba_n_heads",), 128),
    D_ssm: Field(("mamba_d_head",), 2 * E / A_ssm, auto=True),
    G_ssm: Field(("mamba_n_groups",), 1),
    N_state: Field(("mamba_d_state",), 256),
    K_conv: Field(("mamba_d_conv",), 4),
    C_chunk: Field(("mamba_chunk_size",), 256),
}


@dataclass(frozen=True, kw_only=True)
class Hybrid(Biased):
    """A decoder with state-space mixers (Mamba-2), as in Bamba.

    The convolution of the mixer has the same activation as the MLP.
    """

    config = Fields(inert=("time_step_limit", "num_logits_to_keep"))
    variants: ClassVar[Variants] = (
        *Biased.variants,
        {"projection_bias": True, "convolution_bias": False},
    )

    projection_bias: bool = option(BoolField("mamba_proj_bias", False))
    convolution_bias: bool = option(BoolField("mamba_conv_bias", True))

    @property
    def mixer(self) -> Component:
        """Return the state-space mixer of a layer."""
        return ChunkedScan(
            bias=self.projection_bias, convolution_bias=self.convolution_bias, activation=self.activation
        )


@dataclass(frozen=True, kw_only=True)
class MixedHybrid(Hybrid):
    """A decoder with state-space mixers (Mamba-2) in some layers and attention in the others, as in Bamba."""

    @property
    def networks(self) -> Mapping[str, Component]:
        """Return the norm and the network after the mixer of a layer, by their names in torch."""
        return {"pre_ff_layernorm": self.norm, "feed_forward": self.mlp}

    @property
    def layer(self) -> PreNormBlock:
        return self.layer_with("mamba", self.mixer)

    @property
    def stacks(self) -> tuple[Stack, ...]:
        return (
            Stack("ssm_layers", L_ssm, self.layer),
            Stack("attention_layers", L_attn, self.layer_with("self_attn", self.attention)),
        )

    def layer_with(self, name: str, mixer: Component) -> PreNormBlock:
        """Return a layer with a state-space mixer or attention, under its name in torch."""
        return PreNormBlock(parts={"input_layernorm": self.norm, name: mixer, **self.networks})
