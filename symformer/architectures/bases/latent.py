"""Latent: latent attention, in dense layers followed by layers with experts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sympy import Integer

from ...components import Component, GatedMLP, LatentAttention, MoE
from ...configs.field_mapping import Fields
from ...language.sizes import AtMost, Condition, Divides
from ...language.symbols import A, D_nope, D_rope, K, L_dense, L_moe, M, R_q, X, X_shared
from ..base_architecture import Variants
from .llama_like import LlamaLike
from .stacked import Stack

PAIRS_AND_EXPERTS: tuple[Condition, ...] = (Divides(Integer(2), D_rope), AtMost(K, X))


@dataclass(frozen=True, kw_only=True)
class Latent(LlamaLike):
    """The base of DeepSeek-V2 and DeepSeek-V3, with or without a query latent."""

    constraints = PAIRS_AND_EXPERTS
    config = Fields(
        nullable={"query_latent": R_q},
        restated={"num_key_value_heads": A, "head_dim": D_rope, "qk_head_dim": D_nope + D_rope},
        # All layers after the dense ones have experts.
        fixed={"output_router_logits": (False,), "moe_layer_freq": (1,)},
        inert=(
            "pretraining_tp",  # the number of pieces of a linear layer in pretraining
            # the choice of experts, but not their number; the load-balancing loss; expert parallelism
            *("n_group", "topk_group", "topk_method", "scoring_func", "routed_scaling_factor", "aux_loss_alpha"),
            *("seq_aux", "ep_size"),
        ),
    )
    variants: ClassVar[Variants] = ({}, {"query_latent": False}, {"tied": True}, {"head": "none"})
    turned = D_rope
    routing: ClassVar[str]  # how the experts are chosen and weighted
    order = "kind by kind"

    query_latent: bool = True

    @property
    def attention(self) -> Component:
        dropped = "attention_dropout" if self.attention_dropout else ""
        return LatentAttention(query_latent=self.query_latent, weight_dropout=dropped, softmax="float32")

    @property
    def stacks(self) -> tuple[Stack, ...]:
        shared = GatedMLP(hidden=X_shared * M, activation=self.activation)
        moe = MoE(activation=self.activation, routing=self.routing, shared=shared)
        return (
            Stack("dense_layers", L_dense, self.layer),
            Stack("moe_layers", L_moe, self.layer_of(self.attention, moe)),
        )
