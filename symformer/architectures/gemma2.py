"""Gemma 2."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import SelfAttention
from ..language.symbols import A, C_win, D, E, G, H, V
from .base_architecture import HEADS_DIVIDE, Fields, OptionalNumberField, WitnessSpec, option, usual
from .bases.gemma_like import GemmaLike
from .bases.local_global import local_global


@dataclass(frozen=True, kw_only=True)
class Gemma2(GemmaLike):
    """Gemma 2, Gemma Team 2024 [gemma2024], section 2: layers with a sliding window, and layers without one.

    Both kinds of layers have the same parameters. Their order does not affect any count. The soft caps are elementwise
    and not counted.

    >>> Gemma2().formula("kv-cache")
    4*B*L_local*G*D*min(C, C_win - 1) + 4*B*C*L_global*G*D
    """

    title = "Gemma 2"
    config = Fields(
        usual({V: 256000, E: 2304, H: 9216, A: 8, G: 4, D: 256, C_win: 4096}),
        layers=local_global(1, 26),
    )
    witness = WitnessSpec("Gemma2", conditions=HEADS_DIVIDE, accepts_sdpa=False)

    capped_scores: bool = option(OptionalNumberField("attn_logit_softcapping", 50.0))
    capped_logits: bool = option(OptionalNumberField("final_logit_softcapping", 30.0))

    @property
    def rotary_attention(self) -> SelfAttention:
        return replace(super().rotary_attention, capped=self.capped_scores)
