"""Convolutional: LlamaLike with gated short convolutions in most layers, and the names of LFM2."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from ...components import Component, GatedMLP, PreNormBlock, SelfAttention, ShortConvolution
from ...configs.config_fields import BoolField
from ...configs.field_mapping import Fields
from ...ledger.facts import Activation
from ..base_architecture import Names, Variants, option
from .llama_like import LlamaLike


@dataclass(frozen=True, kw_only=True)
class Convolutional(LlamaLike):
    """A decoder with short convolutions, and attention in some layers, as in LFM2."""

    names = Names(norm="embedding_norm")
    config = Fields(echoes={"tie_embedding": ("tied", {True: True, False: False})}, inert=("norm_eps",))
    variants: ClassVar[Variants] = ({}, {"tied": False}, {"convolution_bias": True}, {"head": "none"})

    tied: bool = option(BoolField("tie_word_embeddings", True))
    convolution_bias: bool = option(BoolField("conv_bias", False))
    # not config fields
    activation: Activation = "silu"
    attention_dropout: bool = False

    @property
    def attention(self) -> SelfAttention:
        return replace(
            self.rotary_attention,
            head_norm=self.norm,
            query_norm="q_layernorm",
            key_norm="k_layernorm",
            output="out_proj",
        )

    @property
    def convolution(self) -> Component:
        """Return the convolution of a layer."""
        return ShortConvolution(bias=self.convolution_bias)

    @property
    def mlp(self) -> Component:
        return GatedMLP(activation=self.activation, gate="w1", up="w3", down="w2")

    @property
    def layer(self) -> Component:
        return self.layer_with("conv", self.convolution, self.mlp)

    def layer_with(self, name: str, mixer: Component, mlp: Component) -> PreNormBlock:
        """Return a layer with a convolution or attention, under its name in torch, and its network."""
        return PreNormBlock(parts={"operator_norm": self.norm, name: mixer, "ffn_norm": self.norm, "feed_forward": mlp})
