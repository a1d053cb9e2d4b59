"""LFM2."""

from __future__ import annotations

from dataclasses import dataclass

from ..language.symbols import A, D, E, G, H, K_conv, L_attn, L_conv, V
from .base_architecture import HEAD_WIDTH, AdjustedField, Field, Fields, IndexedLayers, WitnessSpec, usual
from .bases.convolutional import Convolutional
from .bases.stacked import Stack

WIDTH = AdjustedField(("intermediate_size", "block_ff_dim"), 12288)


@dataclass(frozen=True, kw_only=True)
class LFM2(Convolutional):
    """LFM2, Liquid AI 2025 [liquid2025], section 2: gated short convolutions, and attention in some layers.

    The order of the layers does not affect any count.

    >>> LFM2().formula("kv-cache")
    4*B*C*L_attn*G*D + 2*B*L_conv*E*K_conv
    """

    title = "LFM2"
    compared_with = "qwen3"
    config = Fields(
        usual({V: 65536, E: 2560, H: WIDTH, A: 32, G: 8, D: HEAD_WIDTH, K_conv: Field(("conv_L_cache",), 3)}),
        layers=IndexedLayers({"conv": L_conv, "full_attention": L_attn}, places="full_attn_idxs"),
        restated={"block_dim": E, "conv_dim": E, "conv_dim_out": E, "num_heads": A},
        fixed={"block_use_swiglu": (True,), "use_pos_enc": (True,)},
        inert=(
            *("block_norm_eps", "theta"),  # numbers
            # weight initialization
            *("block_mlp_init_scale", "block_out_init_scale", "block_use_xavier_init", "conv_use_xavier_init"),
        ),
    )
    witness = WitnessSpec(
        "Lfm2",
        functions=("act_fn",),
        arguments={"pad_token_id": None},  # otherwise it must be a token
    )

    @property
    def stacks(self) -> tuple[Stack, ...]:
        return (
            Stack("convolution_layers", L_conv, self.layer),
            Stack("attention_layers", L_attn, self.layer_with("self_attn", self.attention, self.mlp)),
        )
