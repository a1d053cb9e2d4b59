"""Qwen2-MoE."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import Component, GatedMLP
from ..language.symbols import A, D, E, G, K, L, M, M_shared, V, X
from .base_architecture import HEAD_WIDTH, BoolField, Field, Fields, WitnessSpec, option, usual
from .bases.sparse import MaybeDivided, SparseThroughout

EXPERTS = {X: Field(("num_experts",), 60), K: 4, M: 1408, M_shared: 5632}


@dataclass(frozen=True, kw_only=True)
class Qwen2MoE(MaybeDivided, SparseThroughout):
    """Qwen2-57B-A14B, Yang et al. 2024 [yang2024], section 2.2.2, and Qwen1.5-MoE: experts and a shared expert.

    The output of the shared expert is multiplied by its own sigmoid gate.

    >>> Qwen2MoE().formula("active-params")
    3*L*E*K*M + 2*L*E*A*D + 2*L*E*G*D + L*E*X + 3*L*E*M_shared + L*A*D + 2*L*G*D + 3*L*E + 2*V*E + E
    """

    title = "Qwen2-MoE"
    config = Fields(usual({V: 151936, E: 2048, **EXPERTS, L: 24, A: 16, G: 16, D: HEAD_WIDTH}))
    witness = WitnessSpec("Qwen2Moe")
    variants = ({}, {"tied": True}, {"qkv_bias": False}, {"head": "none"})

    qkv_bias: bool = option(BoolField("qkv_bias", True))

    @property
    def attention(self) -> Component:
        return replace(self.rotary_attention, bias=self.qkv_bias)

    @property
    def mlp(self) -> Component:
        shared = GatedMLP(hidden=M_shared, activation=self.activation)
        return replace(self.experts, shared=shared, beside="shared_expert", shared_gate="shared_expert_gate")
