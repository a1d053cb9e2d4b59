"""RWKV-7."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from sympy import ceiling

from ..components import ChannelMixing, Component, LayerNorm, LMHead, PreNormBlock, TimeMixing
from ..configs.ratio_field import RatioField
from ..language.sizes import Relations
from ..language.symbols import D_lin, E, H, L, R_a, R_g, R_v, R_w, V
from ..ledger.facts import FIRST_VALUES, ONE, Tensor
from ..ledger.operations import Operations
from .base_architecture import NO_TABLE, BoolField, Field, Fields, Names, WitnessSpec, option, usual
from .bases.decoder import Decoder
from .bases.stacked import Stack

HIDDEN = RatioField(("intermediate_size",), 32 * ceiling(E / 8), of=E)
RANKS = {R_w: 64, R_a: 64, R_v: 16, R_g: 128}


@dataclass(frozen=True, kw_only=True)
class RWKV7(Decoder):
    """RWKV-7 "Goose", Peng et al. 2025 [peng2025], section 4: a decoder without attention, in which each layer has a
    recurrent state. Every layer after the first replaces a computed share of its values by those of the first layer.

    Config files have the fields of the class in flash-linear-attention. As in that class, the embedding has a norm, and
    the number of heads is E/D_lin, whatever ``num_heads`` states. The published totals of some checkpoints of 2026
    are larger by E(2R_v + 1), as if the first layer computed such shares too.

    >>> RWKV7().formula("kv-cache")
    4*B*L*E*D_lin + 4*B*L*E
    """

    title = "RWKV-7"
    names = Names(table="embeddings")
    order = "first"
    constraints = TimeMixing.constraints
    config = Fields(
        usual({V: 32000, E: 2048, H: HIDDEN, L: 24, D_lin: Field(("head_dim",), 64), **RANKS}),
        model_types=("rwkv7",),
        classes={"RWKV7ForCausalLM": {"head": "lm"}, "RWKV7Model": {"head": "none"}},
        restated={"value_dim": E},
        fixed={
            "hidden_act": ("sqrelu",),
            "attn": (None,),  # layers with attention
            "attn_mode": ("chunk", "fused_recurrent"),
            "fuse_linear_cross_entropy": (False,),  # computes no logits in training
        },
        inert=("num_heads", "norm_eps", NO_TABLE, "fuse_norm", "fuse_cross_entropy", "use_l2warp"),
    )
    witness = WitnessSpec.ours("rwkv7")
    variants = ({}, {"tied": True}, {"norm_bias": False}, {"norm_first": False}, {"head": "none"})

    head: Literal["lm", "none"] = "lm"
    tied: bool = option(BoolField("tie_word_embeddings", False))
    norm_bias: bool = option(BoolField("norm_bias", True))
    norm_first: bool = option(BoolField("norm_first", True))

    @property
    def norm(self) -> Component:
        return LayerNorm(bias=self.norm_bias)

    @property
    def layer(self) -> Component:
        return self.layer_of(TimeMixing())

    def layer_of(self, mixing: TimeMixing) -> Component:
        """Return a layer with this time mixing."""
        parts = {"attn_norm": self.norm, "attn": mixing, "ffn_norm": self.norm, "ffn": ChannelMixing()}
        return PreNormBlock(parts=parts)

    @property
    def stacks(self) -> tuple[Stack, ...]:
        return (
            Stack("first_layer", ONE, self.layer_of(TimeMixing(first=True))),
            Stack("later_layers", L - 1, self.layer),
        )

    @property
    def totals(self) -> Relations:
        return {}

    @property
    def lm_head(self) -> LMHead | None:
        return LMHead(tied=self.tied) if self.head == "lm" else None

    def embed(self, ops: Operations, tokens: Tensor) -> Tensor:
        x = super().embed(ops, tokens)
        return ops.call("pre_norm", self.norm, x) if self.norm_first else x

    def contexts(self, ops: Operations, tokens: Tensor) -> tuple[tuple[Tensor, ...], ...]:
        first_values = replace(ops.index(FIRST_VALUES, *tokens.shape, E), grad=ONE)
        return (), (first_values,)
