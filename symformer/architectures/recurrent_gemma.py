"""RecurrentGemma."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import Component, GatedMLP, LMHead, PreNormBlock, RecurrentBlock, RMSNorm, SelfAttention
from ..configs.config_fields import HalvedField
from ..configs.cyclic_layers import CyclicLayers
from ..language.sizes import Divides
from ..language.symbols import A, C_win, D, D_rope, E, G, H, H_lru, K_conv, L_attn, L_rec, V
from ..ledger.facts import Activation
from .base_architecture import (
    HEAD_WIDTH,
    BoolField,
    Field,
    Fields,
    Function,
    Names,
    WitnessSpec,
    option,
    rotating,
    usual,
)
from .bases.biased import Biased
from .bases.llama_like import PARTLY_ROTARY
from .bases.stacked import Stack
from .bases.windowed import WINDOW

RECURRENT = {H_lru: E, K_conv: Field(("conv1d_width",), 4)}


@dataclass(frozen=True, kw_only=True)
class RecurrentGemma(Biased):
    """RecurrentGemma, Botev et al. 2024 [botev2024], section 2, with the layers of Griffin: recurrent blocks, and in
    every third layer attention within a sliding window.

    The order of the layers does not affect any count. The soft cap of the logits is elementwise and not counted.

    >>> RecurrentGemma().formula("kv-cache")
    4*B*L_attn*G*D*min(C, C_win - 1) + 2*B*L_rec*K_conv*H_lru + 2*B*L_rec*H_lru
    """

    title = "RecurrentGemma"
    names = Names(norm="final_norm")
    constraints = (*PARTLY_ROTARY, WINDOW, Divides(A, H_lru))
    turned = D_rope
    rooted = True
    norm = RMSNorm(offset=True)
    config = Fields(
        usual(
            {
                **{V: 256000, E: 2560, H: HalvedField(("intermediate_size",), 7680), A: 10, G: A, D: HEAD_WIDTH},
                **{
                    D_rope: rotating(D, 0.5),
                    C_win: Field(("attention_window_size", "sliding_window"), 2048),
                    **RECURRENT,
                },
            }
        ),
        layers=CyclicLayers({"recurrent": L_rec, "attention": L_attn}),
        ropes=("default",),
        inert=(
            *("logits_soft_cap", "hidden_act"),  # elementwise; not read by the class
            *("w_init_variance_scale", "final_w_init_variance_scale"),  # weight initialization
            "embeddings_scale_by_sqrt_dim",  # not read by the class
        ),
    )
    witness = WitnessSpec(
        "RecurrentGemma", functions=("attention_dropout", "rotary_emb")
    )  # each attention computes its own
    variants = ({}, {"tied": False}, {"attention_bias": True}, {"head": "none"})

    tied: bool = option(BoolField("tie_word_embeddings", True))
    activation: Activation = option(Function("hidden_activation", "gelu_pytorch_tanh"))

    @property
    def attention(self) -> SelfAttention:
        return replace(self.rotary_attention, output_bias=True, window=C_win)

    @property
    def mlp(self) -> GatedMLP:
        return GatedMLP(bias=True, activation=self.activation)

    @property
    def lm_head(self) -> LMHead | None:
        head = super().lm_head
        return replace(head, capped=True) if head else head

    def layer_of(self, attention: Component, mlp: Component) -> PreNormBlock:
        mixer = {"temporal_pre_norm": self.norm, "temporal_block": attention}
        return PreNormBlock(parts={**mixer, "channel_pre_norm": self.norm, "mlp_block": mlp})

    @property
    def stacks(self) -> tuple[Stack, ...]:
        recurrent = RecurrentBlock(activation=self.activation)
        return (
            Stack("recurrent_layers", L_rec, self.layer_of(recurrent, self.mlp)),
            Stack("attention_layers", L_attn, self.layer_of(self.attention, self.mlp)),
        )
