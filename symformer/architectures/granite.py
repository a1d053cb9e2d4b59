"""Granite."""

from __future__ import annotations

from dataclasses import dataclass

from ..language.symbols import A, D, E, G, H, L, V
from .base_architecture import HEAD_WIDTH, Fields, WitnessSpec, usual
from .bases.biased import BiasedThroughout
from .bases.multiplied import Multiplied


@dataclass(frozen=True, kw_only=True)
class Granite(Multiplied, BiasedThroughout):
    """Granite 3.0, Granite Team 2024 [granite2024]: Llama with constant factors in four places.

    >>> Granite().params
    2*L*E*A*D + 2*L*E*G*D + 3*L*E*H + 2*L*E + 2*V*E + E
    """

    title = "Granite"
    config = Fields(usual({V: 32000, E: 4096, H: 11008, L: 32, A: 32, G: A, D: HEAD_WIDTH}))
    witness = WitnessSpec("Granite")
