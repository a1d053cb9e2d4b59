"""Qwen3-MoE."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import Component
from ..language.symbols import A, D, E, G, K, L, M, V, X
from .base_architecture import HEAD_WIDTH, Field, Fields, WitnessSpec, usual
from .bases.biased import Biased
from .bases.sparse import MaybeDivided, SparseThroughout

EXPERTS = {X: Field(("num_experts", "num_local_experts"), 128), K: 8, M: 768}


@dataclass(frozen=True, kw_only=True)
class Qwen3MoE(MaybeDivided, SparseThroughout, Biased):
    """Qwen3-30B-A3B and 235B-A22B, Yang et al. 2025 [yang2025], section 2: Qwen3 with K of X experts per token.

    >>> Qwen3MoE().formula("active-params")
    3*L*E*K*M + 2*L*E*A*D + 2*L*E*G*D + L*E*X + 2*L*E + 2*L*D + 2*V*E + E
    """

    title = "Qwen3-MoE"
    compared_with = "qwen3"
    config = Fields(usual({V: 151936, E: 2048, **EXPERTS, L: 24, A: 32, G: 4, D: HEAD_WIDTH}))
    witness = WitnessSpec("Qwen3Moe")
    variants = Biased.variants

    @property
    def attention(self) -> Component:
        return replace(self.rotary_attention, head_norm=self.norm)
