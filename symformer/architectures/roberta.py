"""RoBERTa."""

from __future__ import annotations

from dataclasses import dataclass

from ..language.symbols import V
from .base_architecture import Fields, WitnessSpec, usual
from .bases.roberta_like import RobertaLike


@dataclass(frozen=True, kw_only=True)
class RoBERTa(RobertaLike):
    """RoBERTa, Liu et al. 2019 [liu2019], section 3.1: BERT's encoder with a different training procedure.

    Position numbers start after the id of the padding token, 1, so two of the P rows are unused.

    >>> RoBERTa().params
    4*L*E**2 + 2*L*E*H + 9*L*E + L*H + V*E + V_type*E + P*E + E**2 + 3*E
    """

    title = "RoBERTa"
    config = Fields(usual({V: 50265}))
    witness = WitnessSpec("Roberta", functions=("lm_head.gelu",), prefix="roberta.")
