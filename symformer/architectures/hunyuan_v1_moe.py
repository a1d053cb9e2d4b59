"""Hunyuan with experts."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sympy import Integer

from ..components import Component, GatedMLP
from ..language.symbols import A, D, E, G, K, L, M, V, X
from .base_architecture import Field, Fields, WitnessSpec, usual
from .bases.hunyuan_like import HunyuanLike
from .bases.sparse import Sparse

EXPERTS = {
    M: Field(("intermediate_size",), 11008),
    X: Field(("num_experts", "num_local_experts"), 1),
    K: Field(("moe_topk", "num_experts_per_tok"), 1, listed=True),
}


@dataclass(frozen=True, kw_only=True)
class HunyuanMoE(Sparse, HunyuanLike):
    """Hunyuan-A13B, Tencent Hunyuan Team 2025 [tencent2025b]: K of X experts and a shared expert of the same size in
    every layer, and norms of each query and key head after the rotation.

    >>> HunyuanMoE().formula("active-params")
    3*L*E*K*M + 2*L*E*A*D + 2*L*E*G*D + L*E*X + 3*L*E*M + 2*L*E + 2*L*D + 2*V*E + E
    """

    title = "Hunyuan MoE"
    config = Fields(
        usual({V: 290943, E: 4096, **EXPERTS, L: 32, A: 32, G: A, D: None}),
        restated={"moe_intermediate_size": M, "num_shared_expert": Integer(1)},
        # The class reads only the first of these fields. The others describe what it computes.
        fixed={
            **{"output_router_logits": (False,), "moe_layer_num_skipped": (0,)},
            **dict.fromkeys(("use_mixed_mlp_moe", "norm_topk_prob"), (True,)),
            **dict.fromkeys(("moe_drop_tokens", "moe_random_routing_dropped_token"), (False,)),
        },
        inert=("capacity_factor",),  # not read by the class
    )
    witness = WitnessSpec("HunYuanMoEV1")
    variants = HunyuanLike.variants

    @property
    def mlp(self) -> Component:
        shared = GatedMLP(hidden=M, activation=self.activation)
        # The class creates the router in single precision, but loading a checkpoint may cast it: it has no code.
        return replace(self.experts, router_code="", router="gate.wg", shared=shared, beside="shared_mlp")
