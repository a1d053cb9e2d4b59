"""DenseFirst: dense layers, followed by layers with experts and a shared expert."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...components import GatedMLP, MoE
from ...components.moe import SIGMOID_IN_GROUPS
from ...configs.field_mapping import Fields
from ...language.symbols import L_dense, L_moe, M, X_shared
from ...ledger.facts import Order
from .llama_like import LlamaLike
from .stacked import Stack


@dataclass(frozen=True, kw_only=True)
class DenseFirst(LlamaLike):
    """A decoder whose first layers have no experts, as in DeepSeek-V3."""

    config = Fields(
        fixed={"output_router_logits": (False,)},
        inert=(
            # the choice and the weights of the experts, not their number; modules that the class does not have
            *("n_group", "topk_group", "routed_scaling_factor", "num_nextn_predict_layers", "num_mtp_layers"),
        ),
    )
    order: ClassVar[Order] = "kind by kind"
    routing: ClassVar[str] = SIGMOID_IN_GROUPS  # how the experts are chosen and weighted
    router_code: ClassVar[str] = "sigmoid of float32 logits"

    @property
    def experts(self) -> MoE:
        """Return the experts of a layer, with a shared expert."""
        shared = GatedMLP(hidden=X_shared * M, activation=self.activation)
        return MoE(activation=self.activation, routing=self.routing, router_code=self.router_code, shared=shared)

    @property
    def stacks(self) -> tuple[Stack, ...]:
        return (
            Stack("dense_layers", L_dense, self.layer),
            Stack("moe_layers", L_moe, self.layer_of(self.attention, self.experts)),
        )
