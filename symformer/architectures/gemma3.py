"""Gemma 3."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import SelfAttention
from ..language.symbols import A, C_win, D, E, G, H, V
from .base_architecture import HEADS_DIVIDE, Fields, WitnessSpec, usual
from .bases.gemma_like import GemmaLike
from .bases.local_global import ROTARY_KINDS, local_global


@dataclass(frozen=True, kw_only=True)
class Gemma3(GemmaLike):
    """Gemma 3, Gemma Team 2025 [gemma2025], section 2: Gemma 2 without caps on scores and logits, with normalized
    queries and keys, and with five layers with a sliding window for each layer without one.

    >>> Gemma3().formula("kv-cache")
    4*B*L_local*G*D*min(C, C_win - 1) + 4*B*C*L_global*G*D
    """

    title = "Gemma 3"
    rotary = "separate"
    config = Fields(
        usual({V: 262208, E: 2304, H: 9216, A: 8, G: 4, D: 256, C_win: 4096}),
        layers=local_global(5, 26),
        model_types=("gemma3_text",),
        classes={"Gemma3ForCausalLM": {"head": "lm"}, "Gemma3TextModel": {"head": "none"}},
        fixed=dict.fromkeys(("sliding_window_pattern", "_sliding_window_pattern"), (6,)),
        apiece=("full_attention", "sliding_attention"),
        # the rotary base of layers with a window; a cap that the class does not apply
        inert=("rope_local_base_freq", "attn_logit_softcapping"),
    )
    witness = WitnessSpec("Gemma3Text", functions=("attention_dropout", *ROTARY_KINDS), conditions=HEADS_DIVIDE)

    @property
    def rotary_attention(self) -> SelfAttention:
        return replace(super().rotary_attention, head_norm=self.norm)
