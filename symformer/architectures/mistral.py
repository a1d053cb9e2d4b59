"""Mistral."""

from __future__ import annotations

from dataclasses import dataclass

from ..language.symbols import A, C_win, D, E, G, H, L, V
from .base_architecture import Fields, WitnessSpec, usual
from .bases.windowed import Windowed


@dataclass(frozen=True, kw_only=True)
class Mistral(Windowed):
    """Mistral 7B, Jiang et al. 2023 [jiang2023], section 2: Llama with a sliding window in the first release.

    The paper's W is C_win. Later releases have no window.

    >>> Mistral().params
    2*L*E*A*D + 2*L*E*G*D + 3*L*E*H + 2*L*E + 2*V*E + E
    >>> Mistral().formula("kv-cache")
    4*B*L*G*D*min(C, C_win - 1)
    """

    title = "Mistral"
    config = Fields(usual({V: 32000, E: 4096, H: 14336, L: 32, A: 32, G: 8, D: E / A, C_win: 4096}))
    witness = WitnessSpec("Mistral")
    variants = ({}, {"window": False}, {"tied": True}, {"head": "none"})
