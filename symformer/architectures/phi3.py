"""Phi-3."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import Component, GatedMLP
from ..language.symbols import A, C_win, D, D_rope, E, G, H, L, V
from .base_architecture import HEAD_WIDTH, Fields, ProbabilityField, WitnessSpec, option, rotating, usual
from .bases.llama_like import PARTLY_ROTARY
from .bases.windowed import Windowed


@dataclass(frozen=True, kw_only=True)
class Phi3(Windowed):
    """Phi-3, Abdin et al. 2024 [abdin2024], section 2: Llama with one matrix for queries, keys and values.

    The gate and up projections are one matrix too. Some releases have a sliding window, and in some only a part of each
    head rotates.

    >>> Phi3().params
    2*L*E*A*D + 2*L*E*G*D + 3*L*E*H + 2*L*E + 2*V*E + E
    """

    title = "Phi-3"
    unwindowed = PARTLY_ROTARY
    turned = D_rope
    config = Fields(
        usual({V: 32064, E: 3072, H: 8192, L: 32, A: 32, G: A, C_win: None, D: HEAD_WIDTH, D_rope: rotating(D, 1.0)}),
        ropes=("default", "longrope", "su"),
        inert=("original_max_position_embeddings", "embd_pdrop"),  # the class has no embedding dropout
    )
    # The padding token does not matter. Its default, row 32000, does not exist in smaller tables.
    witness = WitnessSpec(
        "Phi3",
        functions=("attention_dropout", "resid_attn_dropout", "resid_mlp_dropout"),
        arguments={"pad_token_id": None},
    )
    variants = ({}, {"window": True}, {"tied": True}, {"head": "none"})

    window: bool = False
    dropout: bool = option(ProbabilityField("resid_pdrop", 0.0))

    @property
    def attention(self) -> Component:
        dropped = "resid_attn_dropout" if self.dropout else ""
        return replace(self.rotary_attention, fused="qkv_proj", output_dropout=dropped)

    @property
    def mlp(self) -> Component:
        dropped = "resid_mlp_dropout" if self.dropout else ""
        return GatedMLP(activation=self.activation, fused="gate_up_proj", act="activation_fn", dropout=dropped)
