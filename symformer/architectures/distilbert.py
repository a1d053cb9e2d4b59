"""DistilBERT."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..components.base import Component
from ..components.head_transform import HeadTransform
from ..components.layer_norm import LayerNorm
from ..components.lm_head import LMHead
from ..components.mlp import MLP
from ..components.post_norm_block import PostNormBlock
from ..components.self_attention import SelfAttention
from ..language.symbols import A, E, H, L, P, V
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Chance, Field, Fields, Function, Switch, Witness
from .bases.bert_like import BertLike
from .bases.stacked import Names


@dataclass(frozen=True, kw_only=True)
class DistilBERT(BertLike):
    """DistilBERT, Sanh et al. 2019 [sanh2019], section 3: BERT with half the layers, without segments and pooler.

    >>> DistilBERT().params
    4*L*E**2 + 2*L*E*H + 9*L*E + L*H + V*E + P*E + 2*E
    """

    title = "DistilBERT"
    names = Names(table="embeddings.word_embeddings", layers="transformer.layer")
    fields = Fields(
        {
            V: Field(("vocab_size",), 30522),
            P: Field(("max_position_embeddings",), 512),
            E: Field(("dim", "hidden_size"), 768),
            H: Field(("hidden_dim",), 3072),
            L: Field(("n_layers", "num_hidden_layers"), 6),
            A: Field(("n_heads", "num_attention_heads"), 12),
        },
        {
            "tied": Switch("tie_word_embeddings", True),
            "activation": Function("activation", "gelu"),
            "hidden_dropout": Chance("dropout", 0.1),
            "attention_dropout": Chance("attention_dropout", 0.1),
        },
        model_types=("distilbert",),
        classes={"DistilBertModel": {"head": "none"}, "DistilBertForMaskedLM": {"head": "mlm"}},
        fixed={"sinusoidal_pos_embds": (False,)},  # a table that is not trained
        inert=("qa_dropout", "seq_classif_dropout", "tie_weights_"),  # of heads that no class here has
    )
    witness = Witness("transformers", "DistilBertConfig", prefix="distilbert.")
    variants = ({}, {"head": "mlm"}, {"head": "mlm", "tied": False})

    head: Literal["none", "mlm"] = "none"

    @property
    def segments(self) -> Component | None:
        return None

    @property
    def attention(self) -> SelfAttention:
        return SelfAttention(
            heads=A,
            kv_heads=A,
            head_width=E / A,
            causal=False,
            query="q_lin",
            key="k_lin",
            value="v_lin",
            output="out_lin",
            weight_dropout="dropout" if self.attention_dropout else "",
        )

    @property
    def mlp(self) -> MLP:
        dropped = self.dropped("dropout")
        return MLP(activation=self.activation, up="lin1", act="activation", down="lin2", dropout=dropped)

    @property
    def layer(self) -> Component:
        parts = {"attention": self.attention, "sa_layer_norm": LayerNorm()}
        return PostNormBlock(parts={**parts, "ffn": self.mlp, "output_layer_norm": LayerNorm()}, dropouts=())

    def finish(self, ops: Operations, x: Tensor) -> Tensor:
        if self.head == "none":
            return x
        transform = HeadTransform(
            activation=self.activation, dense="vocab_transform", act="activation", norm="vocab_layer_norm"
        )
        x = ops.call("", transform, x)
        head = LMHead(tied=self.tied, bias=True)
        return ops.call("vocab_projector", head, x, ops.weight(f"{self.names.table}.weight"))
