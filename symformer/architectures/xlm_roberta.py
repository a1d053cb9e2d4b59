"""XLM-RoBERTa."""

from __future__ import annotations

from dataclasses import dataclass

from ..language.symbols import A, E, H, L, P, V, V_type
from .base_architecture import Fields, WitnessSpec, usual
from .roberta import RoBERTa


@dataclass(frozen=True, kw_only=True)
class XLMRoBERTa(RoBERTa):
    """XLM-R, Conneau et al. 2020 [conneau2020], section 3: RoBERTa with a vocabulary for 100 languages.

    >>> XLMRoBERTa().params
    4*L*E**2 + 2*L*E*H + 9*L*E + L*H + V*E + V_type*E + P*E + E**2 + 3*E
    """

    title = "XLM-R"
    config = Fields(
        usual({V: 30522, P: 512, V_type: 2, E: 768, H: 3072, L: 12, A: 12}),
        model_types=("xlm-roberta",),
    )
    witness = WitnessSpec("XLMRoberta", prefix="roberta.")
