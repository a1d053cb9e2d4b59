"""mT5."""

from __future__ import annotations

from dataclasses import dataclass

from ..language.symbols import A, H, L_enc, V
from .base_architecture import Choice, Field, Fields, WitnessSpec, option
from .bases.t5_like import AUTHOR, T5Like, classes_of

SIZES = {
    V: Field(("vocab_size",), 250112),
    H: Field(("d_ff",), 1024),
    L_enc: Field(("num_layers", "num_hidden_layers"), 8),
    A: Field(("num_heads", "num_attention_heads"), 6),
}
GATED = Choice("feed_forward_proj", {"relu": False, "gated-gelu": True}, "gated-gelu")


@dataclass(frozen=True, kw_only=True)
class MT5(T5Like):
    """mT5, Xue et al. 2021 [xue2021], section 3.2: T5 v1.1 with a vocabulary for 101 languages.

    The released checkpoints have an untied head.

    >>> MT5().params
    4*L_enc*E*A*D + 8*L_dec*E*A*D + 3*L_enc*E*H + 3*L_dec*E*H + 2*L_enc*E + 3*L_dec*E + V*E + 2*P_rel*A + 2*E
    """

    title = "mT5"
    scaled = "never"
    config = Fields(SIZES, classes=classes_of("MT5"))
    witness = WitnessSpec("MT5", prefix="", author=AUTHOR)
    variants = ({}, {"head": "none"}, {"tied": False}, {"gated": False})

    gated: bool = option(GATED)
