"""ALBERT."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from sympy import Expr

from ..components import (
    MLP,
    Component,
    HeadTransform,
    LayerNorm,
    Linear,
    MaskedLMHead,
    Pooler,
    PostNormBlock,
    SelfAttention,
)
from ..language.symbols import A, E, E_emb, H, L, N_group, P, V, V_type
from ..ledger.facts import Activation, Tensor
from ..ledger.operations import Operations
from .base_architecture import Fields, Function, ProbabilityField, WitnessSpec, option, usual
from .bases.bert_like import FIXED, BertLike
from .bases.stacked import Stack


@dataclass(frozen=True, kw_only=True)
class ALBERT(BertLike):
    """ALBERT, Lan et al. 2020 [lan2020], section 3.1: BERT with factorized embeddings, and L layers that share the
    weights of N_group layers.

    The paper's E and H are E_emb and E. It has results for N_group = 1 only.

    >>> ALBERT().params
    4*N_group*E**2 + 2*N_group*E*H + 9*N_group*E + N_group*H + V*E_emb + V_type*E_emb + P*E_emb + E_emb*E + E**2 \
+ 2*E_emb + 2*E
    """

    title = "ALBERT"
    config = Fields(
        usual({V: 30000, P: 512, V_type: 2, E_emb: 128, E: 4096, H: 16384, L: 12, N_group: 1, A: 64}),
        fixed={**FIXED, "inner_group_num": (1,)},
        inert=("classifier_dropout_prob", "net_structure_type", "gap_size", "num_memory_blocks", "down_scale_factor"),
    )
    heads = {"Model": {"head": "pooler"}, "ForMaskedLM": {"head": "mlm"}}
    witness = WitnessSpec("Albert", prefix="albert.", rename={".albert_layers.0": ""})
    variants = ({}, {"head": "mlm"}, {"head": "mlm", "tied": False})

    head: Literal["pooler", "mlm"] = "pooler"
    activation: Activation = option(Function("hidden_act", "gelu_new"))
    hidden_dropout: bool = option(ProbabilityField("hidden_dropout_prob", 0.0))
    attention_dropout: bool = option(ProbabilityField("attention_probs_dropout_prob", 0.0))

    @property
    def width(self) -> Expr:
        return E_emb

    @property
    def attention(self) -> SelfAttention:
        return replace(
            super().attention,
            query="query",
            key="key",
            value="value",
            output="dense",
            weight_dropout="attention_dropout" if self.attention_dropout else "",
            output_dropout=self.dropped("output_dropout"),
        )

    @property
    def layer(self) -> Component:
        mlp = MLP(activation=self.activation, up="ffn", act="activation", down="ffn_output")
        parts = {"attention": self.attention, "attention.LayerNorm": LayerNorm()}
        return PostNormBlock(parts={**parts, "": mlp, "full_layer_layer_norm": LayerNorm()}, dropouts=())

    @property
    def stacks(self) -> tuple[Stack, ...]:
        return (Stack("encoder.albert_layer_groups", L, self.layer, distinct=N_group),)

    def embed(self, ops: Operations, tokens: Tensor) -> Tensor:
        return ops.call("encoder.embedding_hidden_mapping_in", Linear(out=E), super().embed(ops, tokens))

    def finish(self, ops: Operations, x: Tensor) -> Tensor:
        if self.head == "pooler":
            return ops.call("", Pooler(dense="pooler", act="pooler_activation"), x)
        transform = HeadTransform(width=E_emb, activation=self.activation, act="activation")
        head = MaskedLMHead(tied=self.tied, transform=transform)
        return ops.call("predictions", head, x, ops.weight(f"{self.names.table}.weight"))
