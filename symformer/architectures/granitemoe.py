"""Granite MoE."""

from __future__ import annotations

from dataclasses import dataclass

from ..components import Component, MoE, PreNormBlock
from ..components.moe import SOFTMAX_OF_CHOSEN
from ..language.sizes import AtMost
from ..language.symbols import A, D, E, G, K, L, M, V, X
from .base_architecture import HEAD_WIDTH, Field, Fields, WitnessSpec, usual
from .bases.llama_like import ROTARY_HEADS
from .bases.multiplied import Multiplied

EXPERTS = {M: Field(("intermediate_size",), 11008), X: 8, K: 2}


@dataclass(frozen=True, kw_only=True)
class GraniteMoE(Multiplied):
    """Granite 3.0 with experts, Granite Team 2024 [granite2024]: Granite with experts in every layer.

    >>> GraniteMoE().formula("active-params")
    3*L*E*K*M + 2*L*E*A*D + 2*L*E*G*D + L*E*X + 2*L*E + 2*V*E + E
    """

    title = "Granite MoE"
    constraints = (*ROTARY_HEADS, AtMost(K, X))
    config = Fields(
        usual({V: 32000, E: 4096, **EXPERTS, L: 32, A: 32, G: A, D: HEAD_WIDTH}),
        fixed={"output_router_logits": (False,)},
        inert=("router_aux_loss_coef",),
    )
    witness = WitnessSpec("GraniteMoe")

    @property
    def mlp(self) -> Component:
        return MoE(router="router", routing=SOFTMAX_OF_CHOSEN, activation=self.activation)

    def layer_of(self, attention: Component, mlp: Component) -> PreNormBlock:
        block = self.pre_norm_layer(attention, mlp)
        parts = {"block_sparse_moe" if name == "mlp" else name: each for name, each in block.parts.items()}
        return PreNormBlock(parts=parts, scale=block.scale)
