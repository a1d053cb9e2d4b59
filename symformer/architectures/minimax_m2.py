"""MiniMax-M2."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import SelfAttention
from ..components.moe import SIGMOID_WITH_BIAS
from ..language.sizes import AtMost
from ..language.symbols import A, D, D_rope, E, G, K, L, M, V, X
from .base_architecture import Field, Fields, WitnessSpec, rotating, usual
from .bases.llama_like import PARTLY_ROTARY
from .bases.sparse import Sparse

EXPERTS = {M: Field(("intermediate_size",), 1536), X: Field(("num_local_experts", "num_experts"), 256), K: 8}
HEADS = {A: 48, G: 8, D: 128, D_rope: rotating(D, 1.0, "rotary_dim")}


@dataclass(frozen=True, kw_only=True)
class MiniMaxM2(Sparse):
    """MiniMax-M2, MiniMax 2025 [minimax2025]: experts in every layer, no shared expert, rotary positions in part of
    each head, and norms on queries and keys over all heads together.

    >>> MiniMaxM2().formula("active-params")
    3*L*E*K*M + 2*L*E*A*D + 2*L*E*G*D + L*E*X + L*A*D + L*G*D + 2*L*E + 2*V*E + E
    """

    title = "MiniMax-M2"
    constraints = (*PARTLY_ROTARY, AtMost(K, X))
    turned = D_rope
    routing = SIGMOID_WITH_BIAS
    router_code = "sigmoid"
    config = Fields(
        usual({V: 200064, E: 3072, **EXPERTS, L: 62, **HEADS}),
        fixed={
            **{"output_router_logits": (False,), "router_jitter_noise": (0.0,), "use_qk_norm": (True,)},
            **{"qk_norm_type": ("per_layer",), "use_routing_bias": (True,), "shared_intermediate_size": (0,)},
            "scoring_func": ("sigmoid",),
        },
        # the weight of a loss; modules that the class does not have
        inert=("router_aux_loss_coef", "use_mtp", "mtp_transformer_layers", "num_mtp_modules"),
    )
    witness = WitnessSpec("MiniMaxM2")

    @property
    def attention(self) -> SelfAttention:
        return replace(self.rotary_attention, joint_norm=self.norm)
