"""Qwen2."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import Component
from ..language.symbols import A, D, E, G, H, L, V
from .base_architecture import HEAD_WIDTH, NO_WINDOW, Fields, WitnessSpec, usual
from .bases.llama_like import LlamaLike


@dataclass(frozen=True, kw_only=True)
class Qwen2(LlamaLike):
    """Qwen2, Yang et al. 2024 [yang2024], section 2.2.1, and Qwen2.5: Llama with biases on queries, keys and values.

    >>> Qwen2().params
    2*L*E*A*D + 2*L*E*G*D + 3*L*E*H + L*A*D + 2*L*G*D + 2*L*E + 2*V*E + E
    """

    title = "Qwen2"
    config = Fields(usual({V: 151936, E: 4096, H: 22016, L: 32, A: 32, G: 32, D: HEAD_WIDTH}), inert=NO_WINDOW)
    witness = WitnessSpec("Qwen2")

    @property
    def attention(self) -> Component:
        return replace(self.rotary_attention, bias=True)
