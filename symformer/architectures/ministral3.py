"""Ministral 3."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import SelfAttention
from ..language.symbols import A, C_win, D, E, G, H, L, V
from .base_architecture import Fields, WitnessSpec, usual
from .bases.windowed import Windowed


@dataclass(frozen=True, kw_only=True)
class Ministral3(Windowed):
    """Ministral 3, Liu et al. 2026 [liu2026], section 2: Mistral with a factor of each query, which grows with its
    position. Only the language model.

    >>> Ministral3().params
    2*L*E*A*D + 2*L*E*G*D + 3*L*E*H + 2*L*E + 2*V*E + E
    """

    title = "Ministral 3"
    config = Fields(
        usual({V: 131072, E: 4096, H: 14336, L: 34, A: 32, G: 8, D: 128, C_win: None}),
        ropes=("yarn",),
        rope_needs=("llama_4_scaling_beta", "original_max_position_embeddings"),
    )
    witness = WitnessSpec("Ministral3", arguments={"pad_token_id": None})  # otherwise it must be a token
    variants = ({}, {"tied": True}, {"window": True}, {"head": "none"})

    window: bool = False

    @property
    def rotary_attention(self) -> SelfAttention:
        return replace(super().rotary_attention, temperature="temperature")
