"""Qwen3-Next."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import GatedDeltaNet
from ..language.symbols import A, D, D_rope, E, G, K, M, M_shared, V, X
from .base_architecture import Field, Fields, WitnessSpec, rotating, unknown, usual
from .bases.linear_hybrid import DELTA_NET, SparseLinearHybrid, hybrid_layers

EXPERTS = {X: Field(("num_experts",), 512), K: 10, M: 512, M_shared: 512}


@dataclass(frozen=True, kw_only=True)
class Qwen3Next(SparseLinearHybrid):
    """Qwen3-Next, Qwen Team 2025 [qwen2025]: Gated DeltaNet in three of four layers, gated attention in the others, and
    K of X experts and a shared expert in each layer. There is no module for multi-token prediction, as in the
    transformers class. The order of the layers does not affect any count.

    >>> Qwen3Next().formula("kv-cache").diff("C")
    4*B*L_attn*G*D
    """

    title = "Qwen3-Next"
    compared_with = "qwen3-moe"
    config = Fields(
        usual({V: 151936, E: 2048, **EXPERTS, A: 16, G: 2, D: 256, D_rope: rotating(D, 0.25), **DELTA_NET}),
        layers=hybrid_layers(48),
    )
    witness = WitnessSpec("Qwen3Next", activation_refusal=unknown("the gates that it copies in another order"))

    @property
    def mixer(self) -> GatedDeltaNet:
        return replace(super().mixer, mixed="", everything="in_proj_qkvz", both="in_proj_ba")
