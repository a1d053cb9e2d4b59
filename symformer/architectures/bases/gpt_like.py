"""GPTLike: a decoder with layer norms and as many key/value heads as query heads, of width E/A."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from ...components.base import Component
from ...components.layer_norm import LayerNorm
from ...components.lm_head import LMHead
from ...components.self_attention import SelfAttention
from ...language.sizes import Condition, Divides
from ...language.symbols import A, E
from .decoder import Decoder

OWN_ATTENTION = "the code of its attention is its own, and nobody has read off it what it keeps"


@dataclass(frozen=True, kw_only=True)
class GPTLike(Decoder):
    """A decoder as GPT-2 has it; a subclass overrides what it has otherwise."""

    constraints: ClassVar[tuple[Condition, ...]] = (Divides(A, E),)

    head: Literal["lm", "none"] = "lm"
    tied: bool = True

    @property
    def norm(self) -> Component:
        return LayerNorm()

    @property
    def multi_head(self) -> SelfAttention:
        """Attention with biases, and with keys and values for every head."""
        return SelfAttention(kv_heads=A, head_width=E / A)

    @property
    def lm_head(self) -> LMHead | None:
        return LMHead(tied=self.tied) if self.head == "lm" else None
