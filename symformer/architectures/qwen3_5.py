"""Qwen3.5."""

from __future__ import annotations

from dataclasses import dataclass

from ..language.symbols import A, D, D_rope, E, G, H, V
from .base_architecture import Fields, WitnessSpec, rotating, usual
from .bases.linear_hybrid import DELTA_NET, TextHybrid, hybrid_layers


@dataclass(frozen=True, kw_only=True)
class Qwen35(TextHybrid):
    """Qwen3.5, Qwen Team 2026 [qwen2026]: Gated DeltaNet in three of four layers, gated attention in the others, and an
    MLP in each. This is the language model only, without the image encoder and the module for multi-token prediction.
    The order of the layers does not affect any count.

    >>> Qwen35().formula("kv-cache").diff("C")
    4*B*L_attn*G*D
    """

    title = "Qwen3.5"
    config = Fields(
        usual({V: 248320, E: 4096, H: 12288, A: 16, G: 4, D: 256, D_rope: rotating(D, 0.25), **DELTA_NET}),
        layers=hybrid_layers(32),
        model_types=("qwen3_5_text",),
        classes={"Qwen3_5ForCausalLM": {"head": "lm"}, "Qwen3_5TextModel": {"head": "none"}},
    )
    witness = WitnessSpec("Qwen3_5Text")
