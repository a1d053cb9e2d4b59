"""Llama."""

from __future__ import annotations

from dataclasses import dataclass

from ..language.symbols import A, D, E, G, H, L, V
from .base_architecture import HEADS_DIVIDE, Fields, WitnessSpec, usual
from .bases.biased import BiasedThroughout


@dataclass(frozen=True, kw_only=True)
class Llama(BiasedThroughout):
    """Llama, Touvron et al. 2023 [touvron2023], section 2.2, Llama 2 [touvron2023b] and Llama 3 [dubey2024]: a pre-norm
    decoder with RMS norms, rotary positions and gated feed-forward networks.

    >>> Llama().params
    2*L*E*A*D + 2*L*E*G*D + 3*L*E*H + 2*L*E + 2*V*E + E
    """

    title = "Llama"
    config = Fields(
        usual({V: 32000, E: 4096, H: 11008, L: 32, A: 32, G: A, D: E / A}),
        inert=("pretraining_tp",),  # the number of pieces of a linear layer in pretraining
    )
    witness = WitnessSpec("Llama", conditions=HEADS_DIVIDE)
