"""Cohere."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import Component, HeadNorm, LayerNorm
from ..language.symbols import A, D, E, G, H, L, V
from .base_architecture import HEAD_WIDTH, HEADS_DIVIDE, BoolField, Fields, WitnessSpec, option, unknown, usual
from .bases.biased import Biased


@dataclass(frozen=True, kw_only=True)
class Cohere(Biased):
    """Command-R, Cohere 2024 [cohere2024]: parallel attention and MLP with one norm for both. Command-R+ also
    normalizes queries and keys.

    The factor of the logits is elementwise.

    >>> Cohere().params
    2*L*E*A*D + 2*L*E*G*D + 3*L*E*H + L*E + V*E + E
    """

    title = "Cohere"
    norm = LayerNorm(bias=False)
    config = Fields(usual({V: 256000, E: 8192, H: 22528, L: 40, A: 64, G: A, D: HEAD_WIDTH}), inert=("logit_scale",))
    witness = WitnessSpec(
        "Cohere", conditions=HEADS_DIVIDE, activation_refusal=unknown("its layer norm, which is written in Python,")
    )
    variants = ({}, {"qk_norm": True}, {"attention_bias": True}, {"tied": False}, {"head": "none"})

    tied: bool = option(BoolField("tie_word_embeddings", True))
    qk_norm: bool = option(BoolField("use_qk_norm", False))

    @property
    def layer(self) -> Component:
        attention = replace(self.rotary_attention, head_norm=HeadNorm() if self.qk_norm else None)
        return self.parallel_layer(attention, self.mlp)
