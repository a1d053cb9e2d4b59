"""CamemBERT."""

from __future__ import annotations

from dataclasses import dataclass

from ..language.symbols import V
from .base_architecture import Fields, WitnessSpec, usual
from .bases.roberta_like import RobertaLike


@dataclass(frozen=True, kw_only=True)
class CamemBERT(RobertaLike):
    """CamemBERT, Martin et al. 2020 [martin2020], section 4: RoBERTa for French.

    >>> CamemBERT().params
    4*L*E**2 + 2*L*E*H + 9*L*E + L*H + V*E + V_type*E + P*E + E**2 + 3*E
    """

    title = "CamemBERT"
    config = Fields(usual({V: 30522}))
    witness = WitnessSpec("Camembert", functions=("lm_head.gelu",), prefix="roberta.")
