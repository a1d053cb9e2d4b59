"""Youtu-LLM."""

from __future__ import annotations

from dataclasses import dataclass

from ..language.symbols import A, D_nope, D_rope, D_v, E, H, L, R_kv, R_q, V
from .base_architecture import BoolField, Fields, WitnessSpec, option, usual
from .bases.latent import LatentDense

HEADS = {A: 16, R_q: 1536, R_kv: 512, D_nope: 128, D_rope: 64, D_v: 128}


@dataclass(frozen=True, kw_only=True)
class Youtu(LatentDense):
    """Youtu-LLM 2B, Lu et al. 2025 [lu2025]: Llama with the latent attention of DeepSeek-V3.

    >>> Youtu().formula("kv-cache")
    2*B*C*L*R_kv + 2*B*C*L*D_rope
    """

    title = "Youtu-LLM"
    config = Fields(
        usual({V: 128256, E: 2048, H: 6144, L: 32, **HEADS}),
        # which elements form a pair; initialization
        inert=("rope_interleave", "embedding_initializer_range"),
    )
    witness = WitnessSpec("Youtu", arguments={"num_key_value_heads": A})
    variants = ({}, {"query_latent": False}, {"tied": False}, {"head": "none"})

    tied: bool = option(BoolField("tie_word_embeddings", True))
