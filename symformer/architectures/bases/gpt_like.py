"""GPTLike: a decoder with layer norms and as many key/value heads as query heads, of width E/A."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...components import Component, LayerNorm, SelfAttention
from ...configs.config_fields import BoolField
from ...language.sizes import Condition, Divides
from ...language.symbols import A, E
from ..base_architecture import Variants, option
from .decoder import HubDecoder


@dataclass(frozen=True, kw_only=True)
class GPTLike(HubDecoder):
    """The base of GPT-like decoders. A subclass overrides the parts that differ."""

    constraints: ClassVar[tuple[Condition, ...]] = (Divides(A, E),)
    variants: ClassVar[Variants] = ({}, {"tied": False}, {"head": "none"})

    tied: bool = option(BoolField("tie_word_embeddings", True))

    @property
    def norm(self) -> Component:
        return LayerNorm()

    @property
    def multi_head(self) -> SelfAttention:
        """Return multi-head attention with biases."""
        return SelfAttention(kv_heads=A, head_width=E / A)
