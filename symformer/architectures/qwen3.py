"""Qwen3."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import Component
from ..language.symbols import A, D, E, G, H, L, V
from .base_architecture import NO_WINDOW, Fields, WitnessSpec, usual
from .bases.biased import Biased


@dataclass(frozen=True, kw_only=True)
class Qwen3(Biased):
    """Qwen3, Yang et al. 2025 [yang2025], section 2: Llama with a norm on the queries and keys of each head.

    >>> Qwen3().params
    2*L*E*A*D + 2*L*E*G*D + 3*L*E*H + 2*L*E + 2*L*D + 2*V*E + E
    """

    title = "Qwen3"
    config = Fields(usual({V: 151936, E: 4096, H: 22016, L: 32, A: 32, G: 32, D: 128}), inert=NO_WINDOW)
    witness = WitnessSpec("Qwen3")

    @property
    def attention(self) -> Component:
        return replace(self.rotary_attention, head_norm=self.norm)
