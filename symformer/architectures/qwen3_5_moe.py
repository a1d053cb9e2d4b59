"""Qwen3.5-MoE."""

from __future__ import annotations

from dataclasses import dataclass

from ..components.moe import SOFTMAX
from ..language.symbols import A, D, D_rope, E, G, K, M, M_shared, V, X
from .base_architecture import Field, Fields, WitnessSpec, rotating, usual
from .bases.linear_hybrid import DELTA_NET, SparseLinearHybrid, TextHybrid, hybrid_layers

EXPERTS = {X: Field(("num_experts",), 256), K: 8, M: 512, M_shared: 512}


@dataclass(frozen=True, kw_only=True)
class Qwen35MoE(TextHybrid, SparseLinearHybrid):
    """Qwen3.5 with experts, Qwen Team 2026 [qwen2026]: the MLP of each layer is replaced by K of X experts and a shared
    expert. This is the language model only, without the image encoder and the module for multi-token prediction. The
    order of the layers does not affect any count.

    >>> Qwen35MoE().formula("kv-cache").diff("C")
    4*B*L_attn*G*D
    """

    title = "Qwen3.5-MoE"
    constraints = SparseLinearHybrid.constraints
    routing = SOFTMAX
    config = Fields(
        usual({V: 248320, E: 2048, **EXPERTS, A: 16, G: 2, D: 256, D_rope: rotating(D, 0.25), **DELTA_NET}),
        layers=hybrid_layers(40),
        model_types=("qwen3_5_moe_text",),
        classes={"Qwen3_5MoeForCausalLM": {"head": "lm"}, "Qwen3_5MoeTextModel": {"head": "none"}},
    )
    witness = WitnessSpec("Qwen3_5MoeText")
