"""UMT5."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base_architecture import Fields, WitnessSpec
from .bases.encoder_decoder import Tower
from .bases.mt5_like import SIZES, MT5Like
from .bases.t5_like import AUTHOR, FUNCTIONS, classes_of


@dataclass(frozen=True, kw_only=True)
class UMT5(MT5Like):
    """UMT5, Chung et al. 2023 [chung2023], section 4: mT5 with a table of distances in every layer.

    The released checkpoints have an untied head.

    >>> UMT5().params  # doctest: +NORMALIZE_WHITESPACE
    4*L_enc*E*A*D + 8*L_dec*E*A*D + L_enc*P_rel*A + 3*L_enc*E*H + L_dec*P_rel*A + 3*L_dec*E*H + 2*L_enc*E + 3*L_dec*E
    + V*E + 2*E
    """

    title = "UMT5"
    scaled = "always"
    own_table = "relative_attention_bias"
    config = Fields(SIZES, classes=classes_of("UMT5"))
    witness = WitnessSpec("UMT5", functions=FUNCTIONS, prefix="", author=AUTHOR)

    def beside(self, ops: Operations, tower: Tower, tokens: Tensor) -> Mapping[str, Tensor]:
        return {}
