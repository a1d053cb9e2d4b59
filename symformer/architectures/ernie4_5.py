"""ERNIE 4.5."""

from __future__ import annotations

from dataclasses import dataclass

from ..language.symbols import A, D, E, G, H, L, V
from ..ledger.facts import REPEATED_SINGLE_ROTARY
from .base_architecture import BoolField, Fields, WitnessSpec, option, usual
from .bases.biased import BiasedAlike


@dataclass(frozen=True, kw_only=True)
class Ernie45(BiasedAlike):
    """ERNIE 4.5 0.3B, Baidu-ERNIE-Team 2025 [baidu2025]: Llama with optional biases of all linear layers.

    >>> Ernie45().params
    2*L*E*A*D + 2*L*E*G*D + 3*L*E*H + 2*L*E + V*E + E
    """

    title = "ERNIE 4.5"
    tables = REPEATED_SINGLE_ROTARY
    config = Fields(usual({V: 103424, E: 1024, H: 3072, L: 18, A: 16, G: 2, D: 128}))
    witness = WitnessSpec("Ernie4_5")
    variants = ({}, {"bias": True}, {"bias": True, "tied": False}, {"head": "none"})

    tied: bool = option(BoolField("tie_word_embeddings", True))
