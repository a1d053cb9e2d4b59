"""DeBERTa-v3."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from ..components import (
    Component,
    DisentangledAttention,
    Dropout,
    LayerNorm,
    MaskedLMHead,
    PostNormBlock,
    TokenEmbedding,
)
from ..language.symbols import A, E, H, L, P_rel, V
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base_architecture import NO_TABLE, Field, Fields, WitnessSpec, unknown, usual
from .bases.bert_like import BertLike


@dataclass(frozen=True, kw_only=True)
class DeBERTaV3(BertLike):
    """DeBERTa-v3, He et al. 2021 [he2021b], section 3: BERT's layers with disentangled attention.

    A table has a row for each of 2·P_rel buckets of distances. There are no positions in the embeddings.

    >>> DeBERTaV3().params
    4*L*E**2 + 2*L*E*H + 9*L*E + L*H + V*E + 2*P_rel*E + 4*E
    """

    title = "DeBERTa-v3"
    config = Fields(
        {
            **usual({V: 128100, E: 1536, H: 6144, L: 24, A: 24}),
            P_rel: Field(("position_buckets",)),
        },
        model_types=("deberta-v2",),
        restated={"embedding_size": E, "attention_head_size": E / A},
        required={
            **{"relative_attention": (True,), "share_att_key": (True,), "norm_rel_ebd": ("layer_norm",)},
            "pos_att_type": (["p2c", "c2p"], ["c2p", "p2c"], "p2c|c2p", "c2p|p2c"),
            "position_biased_input": (False,),
        },
        fixed={"type_vocab_size": (0,), "conv_kernel_size": (0,), "legacy": (True,)},
        # the greatest distance with a bucket of its own, and a pooler of other classes
        inert=(NO_TABLE, "max_relative_positions", "pooler_dropout", "pooler_hidden_act", "pooler_hidden_size"),
    )
    heads = {"Model": {"head": "none"}, "ForMaskedLM": {"head": "mlm"}}
    witness = WitnessSpec(
        "DebertaV2", prefix="deberta.", masked=False, activation_refusal=unknown("disentangled attention")
    )
    variants = ({}, {"head": "mlm"}, {"head": "mlm", "tied": False})

    head: Literal["none", "mlm"] = "none"

    @property
    def layer(self) -> Component:
        attention = DisentangledAttention(
            head_width=E / A,
            distance_dropout=self.dropped("self.pos_dropout"),
            weight_dropout="self.dropout" if self.attention_dropout else "",
            output_dropout=self.dropped("output.dropout"),
        )
        parts = {"attention": attention, "attention.output.LayerNorm": LayerNorm()}
        return PostNormBlock(parts={**parts, "": self.mlp, "output.LayerNorm": LayerNorm()}, dropouts=())

    def embed(self, ops: Operations, tokens: Tensor) -> Tensor:
        x = ops.call(self.names.table, TokenEmbedding(), tokens)
        x = ops.call("embeddings.LayerNorm", LayerNorm(), x)
        return ops.call("embeddings.dropout", Dropout(), x) if self.hidden_dropout else x

    def context(self, ops: Operations, tokens: Tensor) -> tuple[Tensor, ...]:
        table = ops.parameter("encoder.rel_embeddings", weight=(2 * P_rel, E))["weight"]
        return (ops.call("encoder.LayerNorm", LayerNorm(), ops.read(table, 1, 2 * P_rel, E)),)

    def finish(self, ops: Operations, x: Tensor) -> Tensor:
        if self.head == "none":
            return x
        head = MaskedLMHead(tied=self.tied)
        head = replace(head, transform=replace(head.transform, activation=self.activation))
        return ops.call("cls.predictions", head, x, ops.weight(f"{self.names.table}.weight"))
