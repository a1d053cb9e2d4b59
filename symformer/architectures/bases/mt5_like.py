"""MT5Like: T5 with gated feed-forward networks and a vocabulary for 101 languages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...configs.config_fields import Choice, Field
from ...language.symbols import A, H, L_enc, V
from ..base_architecture import Variants, option
from .t5_like import T5Like

SIZES = {
    V: Field(("vocab_size",), 250112),
    H: Field(("d_ff",), 1024),
    L_enc: Field(("num_layers", "num_hidden_layers"), 8),
    A: Field(("num_heads", "num_attention_heads"), 6),
}


@dataclass(frozen=True, kw_only=True)
class MT5Like(T5Like):
    """The base of mT5 and UMT5, whose configs have the same sizes and defaults."""

    variants: ClassVar[Variants] = ({}, {"head": "none"}, {"tied": False}, {"gated": False})

    gated: bool = option(Choice("feed_forward_proj", {"relu": False, "gated-gelu": True}, "gated-gelu"))
