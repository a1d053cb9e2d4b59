"""Solar Open."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import GatedMLP, MoE, SelfAttention
from ..components.moe import SIGMOID_IN_GROUPS
from ..language.symbols import A, D, E, G, K, L, M, V, X, X_shared
from .base_architecture import BoolField, Field, Fields, WitnessSpec, option, usual
from .bases.sparse import Sparse

EXPERTS = {M: 1280, X: Field(("n_routed_experts", "num_local_experts"), 128), X_shared: 1, K: 8}


@dataclass(frozen=True, kw_only=True)
class SolarOpen(Sparse):
    """Solar Open 100B, Park et al. 2026 [park2026]: the experts of DeepSeek-V3 with a shared expert in every layer.

    >>> SolarOpen().formula("active-params").partial(X_shared="1")
    3*L*E*K*M + 2*L*E*A*D + 2*L*E*G*D + L*E*X + 3*L*E*M + 2*L*E + 2*V*E + E
    """

    title = "Solar Open"
    routing = SIGMOID_IN_GROUPS
    router_code = "sigmoid of float32 logits"
    config = Fields(
        usual({V: 196608, E: 4096, **EXPERTS, L: 48, A: 64, G: 8, D: 128}),
        fixed={"output_router_logits": (False,), "norm_topk_prob": (True,), "first_k_dense_replace": (0,)},
        # the choice of experts, but not their number; the width of dense layers, which the class does not have
        inert=("n_group", "topk_group", "routed_scaling_factor", "intermediate_size"),
    )
    # With one group, any number of experts is valid.
    witness = WitnessSpec("SolarOpen", arguments={"n_group": 1, "topk_group": 1})
    variants = ({}, {"attention_bias": True}, {"tied": True}, {"head": "none"})

    attention_bias: bool = option(BoolField("attention_bias", False))

    @property
    def attention(self) -> SelfAttention:
        return replace(self.rotary_attention, bias=self.attention_bias)

    @property
    def mlp(self) -> MoE:
        return replace(self.experts, shared=GatedMLP(hidden=X_shared * M, activation=self.activation))
