"""mT5."""

from __future__ import annotations

from dataclasses import dataclass

from .base_architecture import Fields, WitnessSpec
from .bases.mt5_like import SIZES, MT5Like
from .bases.t5_like import AUTHOR, FUNCTIONS, classes_of


@dataclass(frozen=True, kw_only=True)
class MT5(MT5Like):
    """mT5, Xue et al. 2021 [xue2021], section 3.2: T5 v1.1 with a vocabulary for 101 languages.

    The released checkpoints have an untied head.

    >>> MT5().params
    4*L_enc*E*A*D + 8*L_dec*E*A*D + 3*L_enc*E*H + 3*L_dec*E*H + 2*L_enc*E + 3*L_dec*E + V*E + 2*P_rel*A + 2*E
    """

    title = "mT5"
    scaled = "never"
    config = Fields(SIZES, classes=classes_of("MT5"))
    witness = WitnessSpec("MT5", functions=FUNCTIONS, prefix="", author=AUTHOR)
