"""Granite with experts."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import Component
from ..components.moe import SOFTMAX_OF_CHOSEN
from ..language.symbols import A, D, E, G, K, L, M, V, X
from .base_architecture import HEAD_WIDTH, Field, Fields, WitnessSpec, usual
from .bases.biased import Biased
from .bases.multiplied import Multiplied
from .bases.sparse import Sparse

EXPERTS = {M: Field(("intermediate_size",), 11008), X: Field(("num_local_experts", "num_experts"), 8), K: 2}


@dataclass(frozen=True, kw_only=True)
class GraniteMoE(Multiplied, Sparse, Biased):
    """Granite 3.0 1B-A400M and 3B-A800M, Granite Team 2024 [granite2024]: Granite with K of X experts per token.

    >>> GraniteMoE().formula("active-params")
    3*L*E*K*M + 2*L*E*A*D + 2*L*E*G*D + L*E*X + 2*L*E + 2*V*E + E
    """

    title = "Granite MoE"
    mlp_name = "block_sparse_moe"
    routing = SOFTMAX_OF_CHOSEN
    router_code = "softmax of chosen, cast"
    config = Fields(
        usual({V: 32000, E: 4096, **EXPERTS, L: 32, A: 32, G: A, D: HEAD_WIDTH}),
        fixed={"output_router_logits": (False,)},
        inert=("router_aux_loss_coef",),  # the weight of a loss
    )
    witness = WitnessSpec("GraniteMoe")
    variants = Biased.variants

    @property
    def mlp(self) -> Component:
        return replace(self.experts, router="router")
