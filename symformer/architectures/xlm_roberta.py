"""XLM-RoBERTa."""

from __future__ import annotations

from dataclasses import dataclass

from ..language.symbols import V
from .base_architecture import Fields, WitnessSpec, usual
from .bases.roberta_like import RobertaLike


@dataclass(frozen=True, kw_only=True)
class XLMRoBERTa(RobertaLike):
    """XLM-R, Conneau et al. 2020 [conneau2020], section 3: RoBERTa with a vocabulary for 100 languages.

    >>> XLMRoBERTa().params
    4*L*E**2 + 2*L*E*H + 9*L*E + L*H + V*E + V_type*E + P*E + E**2 + 3*E
    """

    title = "XLM-R"
    config = Fields(usual({V: 30522}), model_types=("xlm-roberta",))
    witness = WitnessSpec("XLMRoberta", functions=("lm_head.gelu",), prefix="roberta.")
