"""Kimi Linear."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..components import Component, KimiDeltaAttention, LatentAttention
from ..components.moe import SIGMOID_IN_GROUPS_MAYBE_DIVIDED
from ..configs.kimi_layers import FULL, LINEAR, KimiLayers
from ..language.frozen import FrozenDict
from ..language.sizes import AtMost, Relations
from ..language.symbols import (
    A,
    A_lin,
    D_lin,
    D_nope,
    D_shared,
    D_v,
    E,
    H,
    K,
    K_conv,
    L,
    L_attn,
    L_dense,
    L_lin,
    L_lin_x,
    L_moe,
    M,
    R_kv,
    R_q,
    V,
    X,
    X_shared,
)
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base_architecture import Field, Fields, WitnessSpec, usual
from .bases.dense_first import DenseFirst
from .bases.stacked import Stack

EXPERTS = {
    M: 1024,
    X: Field(("num_local_experts", "num_experts"), 256),
    X_shared: Field(("n_shared_experts", "num_shared_experts"), 1),
    K: Field(("num_experts_per_tok", "num_experts_per_token"), 8),
}
HEADS = {A: 32, R_q: None, R_kv: 512, D_nope: 128, D_shared: Field(("qk_rope_head_dim",), 64), D_v: 128}
LINEAR_HEADS = {
    A_lin: 32,
    D_lin: 128,
    K_conv: Field(("linear_conv_kernel_dim",), 4),
}


@dataclass(frozen=True, kw_only=True)
class KimiLinear(DenseFirst):
    """Kimi Linear, Kimi Team 2025 [kimi2025], section 4: Kimi Delta Attention in most layers, latent attention without
    positions in the others; dense first layers, followed by layers with experts and a shared expert.

    The order of the layers with experts does not affect any count.

    >>> KimiLinear().formula("kv-cache")
    6*B*L_lin*A_lin*K_conv*D_lin + 4*B*L_lin*A_lin*D_lin**2 + 2*B*C*L_attn*R_kv + 2*B*C*L_attn*D_shared
    """

    title = "Kimi Linear"
    compared_with = "deepseek-v3"
    constraints = (AtMost(K, X),)
    routing = SIGMOID_IN_GROUPS_MAYBE_DIVIDED
    order = "any"
    tied: ClassVar[bool] = False  # type: ignore[misc]  # the head of the class is never tied
    query_latent: bool = False
    config = Fields(
        usual({V: 163840, E: 2304, H: 9216, **EXPERTS, **HEADS, **LINEAR_HEADS}),
        layers=KimiLayers({"dense": L_dense, LINEAR: L_lin_x, FULL: L_attn}),
        nullable={"query_latent": R_q},
        restated={"num_key_value_heads": A, "qk_head_dim": D_nope + D_shared},
        fixed={
            **{"tie_word_embeddings": (False,), "mla_use_nope": (True,), "moe_layer_freq": (1,)},
            **{"moe_router_activation_func": ("sigmoid",), "rope_scaling": (None,), "rope_parameters": (None,)},
        },
        inert=(
            *("norm_topk_prob", "moe_renormalize", "num_expert_group", "use_grouped_topk"),  # the choice of experts
            *("head_dim", "pretraining_tp"),  # not read by the class
        ),
    )
    # The padding token must be a token. With one group, any number of experts is valid.
    witness = WitnessSpec("KimiLinear", arguments={"pad_token_id": None, "num_key_value_heads": None})
    variants = ({}, {"query_latent": True}, {"head": "none"})

    @property
    def attention(self) -> Component:
        dropped = "attention_dropout" if self.attention_dropout else ""
        return LatentAttention(
            query_latent=self.query_latent, weight_dropout=dropped, softmax="float32", shared=D_shared, positions=""
        )

    @property
    def stacks(self) -> tuple[Stack, ...]:
        linear = KimiDeltaAttention(activation=self.activation)
        return (
            Stack("dense_layers", L_dense, self.layer_of(linear, self.mlp)),
            Stack("linear_layers", L_lin_x, self.layer_of(linear, self.experts)),
            Stack("attention_layers", L_attn, self.layer_of(self.attention, self.experts)),
        )

    @property
    def totals(self) -> Relations:
        kinds = {L_lin: L_dense + L_lin_x, L_moe: L_lin_x + L_attn}
        return FrozenDict({L: L_dense + L_lin_x + L_attn, **kinds})

    def context(self, ops: Operations, tokens: Tensor) -> tuple[Tensor, ...]:
        return ()
