"""mBART."""

from __future__ import annotations

from dataclasses import dataclass

from .base_architecture import WitnessSpec
from .bases.bart_like import DROPOUTS
from .bases.learned_bart import LearnedBart
from .bases.pre_norm_bart import PreNormBart


@dataclass(frozen=True, kw_only=True)
class MBart(PreNormBart, LearnedBart):
    """mBART, Liu et al. 2020 [liu2020], section 2.2: a pre-norm BART for many languages.

    >>> MBart().params  # doctest: +NORMALIZE_WHITESPACE
    4*L_enc*E**2 + 2*L_enc*E*H + 8*L_dec*E**2 + 2*L_dec*E*H + 9*L_enc*E + L_enc*H + 15*L_dec*E + L_dec*H + V*E + 2*P*E
    + 12*E
    """

    title = "mBART"
    witness = WitnessSpec("MBart", functions=DROPOUTS)
