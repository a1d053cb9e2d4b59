"""BART."""

from __future__ import annotations

from dataclasses import dataclass

from ..components import Component, LayerNorm, PostNormBlock
from .base_architecture import WitnessSpec
from .bases.bart_like import DROPOUTS
from .bases.encoder_decoder import Tower
from .bases.learned_bart import LearnedBart


@dataclass(frozen=True, kw_only=True)
class BART(LearnedBart):
    """BART, Lewis et al. 2020 [lewis2020], section 2.1: a post-norm encoder-decoder with learned positions.

    Each tower has a norm after its embeddings and none after its last layer. Both towers have the same width and number
    of heads.

    >>> BART().params  # doctest: +NORMALIZE_WHITESPACE
    4*L_enc*E**2 + 2*L_enc*E*H + 8*L_dec*E**2 + 2*L_dec*E*H + 9*L_enc*E + L_enc*H + 15*L_dec*E + L_dec*H + V*E + 2*P*E
    + 8*E
    """

    title = "BART"
    witness = WitnessSpec("Bart", functions=DROPOUTS)

    def layer(self, tower: Tower) -> Component:
        parts: dict[str, Component] = {}
        for norm, name, sublayer in self.sublayers(tower):
            parts |= {name: sublayer, norm: LayerNorm()}
        return PostNormBlock(parts=parts, dropouts=("dropout",) * (len(parts) // 2) if self.dropout else ())
