"""LFM2."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import Component, GatedMLP, PreNormBlock, ShortConvolution
from ..language.symbols import A, D, E, G, H, K_conv, L_attn, L_conv, V
from .base_architecture import (
    HEAD_WIDTH,
    Activation,
    AdjustedField,
    BoolField,
    Field,
    Fields,
    IndexedLayers,
    Names,
    WitnessSpec,
    option,
    usual,
)
from .bases.llama_like import LlamaLike
from .bases.stacked import Stack

WIDTH = AdjustedField(("intermediate_size", "block_ff_dim"), 12288)


@dataclass(frozen=True, kw_only=True)
class LFM2(LlamaLike):
    """LFM2, Liquid AI 2025 [liquid2025], section 2: gated short convolutions, and attention in some layers.

    The order of the layers does not affect any count.

    >>> LFM2().formula("kv-cache")
    4*B*C*L_attn*G*D + 2*B*L_conv*E*K_conv
    """

    title = "LFM2"
    names = Names(norm="embedding_norm")
    config = Fields(
        usual({V: 65536, E: 2560, H: WIDTH, A: 32, G: 8, D: HEAD_WIDTH, K_conv: Field(("conv_L_cache",), 3)}),
        layers=IndexedLayers({"conv": L_conv, "full_attention": L_attn}, places="full_attn_idxs"),
        restated={"block_dim": E, "conv_dim": E, "conv_dim_out": E, "num_heads": A},
        echoes={"tie_embedding": ("tied", {True: True, False: False})},
        fixed={"block_use_swiglu": (True,), "use_pos_enc": (True,)},
        inert=(
            *("norm_eps", "block_norm_eps", "theta"),  # numbers
            # weight initialization
            *("block_mlp_init_scale", "block_out_init_scale", "block_use_xavier_init", "conv_use_xavier_init"),
        ),
    )
    witness = WitnessSpec("Lfm2", arguments={"pad_token_id": None})  # otherwise it must be a token
    variants = ({}, {"tied": False}, {"convolution_bias": True}, {"head": "none"})

    tied: bool = option(BoolField("tie_word_embeddings", True))
    convolution_bias: bool = option(BoolField("conv_bias", False))
    # not config fields
    activation: Activation = "silu"
    attention_dropout: bool = False

    @property
    def stacks(self) -> tuple[Stack, ...]:
        attention = replace(
            self.rotary_attention,
            head_norm=self.norm,
            query_norm="q_layernorm",
            key_norm="k_layernorm",
            output="out_proj",
        )
        return (
            Stack("convolution_layers", L_conv, self.layer),
            Stack("attention_layers", L_attn, self.layer_with("self_attn", attention)),
        )

    @property
    def layer(self) -> Component:
        return self.layer_with("conv", ShortConvolution(bias=self.convolution_bias))

    def layer_with(self, name: str, mixer: Component) -> PreNormBlock:
        """Return a layer with a convolution or attention, under its name in torch, and a feed-forward network."""
        mlp = GatedMLP(activation=self.activation, gate="w1", up="w3", down="w2")
        return PreNormBlock(parts={"operator_norm": self.norm, name: mixer, "ffn_norm": self.norm, "feed_forward": mlp})
