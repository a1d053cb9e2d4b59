"""Latent: latent attention, in layers with one feed-forward network and then in layers with experts."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Integer

from ...components.base import Component
from ...components.gated_mlp import GatedMLP
from ...components.latent_attention import LatentAttention
from ...components.moe import MoE
from ...language.sizes import AtMost, Condition, Divides
from ...language.symbols import D_rope, K, L_dense, L_moe, M, X, X_shared
from ...ledger.facts import Tensor
from ...ledger.operations import Operations
from .llama_like import LlamaLike
from .stacked import Stack

PAIRS_AND_EXPERTS: tuple[Condition, ...] = (Divides(Integer(2), D_rope), AtMost(K, X))
STACKS = {"dense_layers": L_dense, "moe_layers": L_moe}


@dataclass(frozen=True, kw_only=True)
class Latent(LlamaLike):
    """As DeepSeek has it, with a latent for the queries or without."""

    constraints = PAIRS_AND_EXPERTS
    order = "kind by kind"

    query_latent: bool = True

    @property
    def attention(self) -> Component:
        dropped = "attention_dropout" if self.attention_dropout else ""
        return LatentAttention(query_latent=self.query_latent, weight_dropout=dropped, softmax="float32")

    @property
    def stacks(self) -> tuple[Stack, ...]:
        shared = GatedMLP(hidden=X_shared * M, activation=self.activation)
        moe = MoE(activation=self.activation, shared=shared)
        return (
            Stack("dense_layers", L_dense, self.layer),
            Stack("moe_layers", L_moe, self.layer_of(self.attention, moe)),
        )

    def context(self, ops: Operations, tokens: Tensor) -> tuple[Tensor, ...]:
        return (ops.positions("rotary_emb", tokens.shape[1], D_rope, "rotary"),)
