"""DistilBERT."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from ..components import MLP, Component, HeadTransform, LayerNorm, LMHead, PostNormBlock, SelfAttention
from ..language.symbols import A, E, H, L, P, V
from ..ledger.facts import Activation, Tensor
from ..ledger.operations import Operations
from .base_architecture import Fields, Function, Names, ProbabilityField, WitnessSpec, option, usual
from .bases.bert_like import BertLike

NAMES = {
    E: ("dim", "hidden_size"),
    H: ("hidden_dim",),
    L: ("n_layers", "num_hidden_layers"),
    A: ("n_heads", "num_attention_heads"),
}


@dataclass(frozen=True, kw_only=True)
class DistilBERT(BertLike):
    """DistilBERT, Sanh et al. 2019 [sanh2019], section 3: BERT with half the layers, and without segments or a pooler.

    >>> DistilBERT().params
    4*L*E**2 + 2*L*E*H + 9*L*E + L*H + V*E + P*E + 2*E
    """

    title = "DistilBERT"
    names = Names(table="embeddings.word_embeddings", layers="transformer.layer")
    config = Fields(
        usual({V: 30522, P: 512, E: 768, H: 3072, L: 6, A: 12}, NAMES),
        fixed={"sinusoidal_pos_embds": (False,)},  # a table that is not trained
        inert=("qa_dropout", "seq_classif_dropout", "tie_weights_"),  # of heads that no built-in class has
    )
    heads = {"Model": {"head": "none"}, "ForMaskedLM": {"head": "mlm"}}
    witness = WitnessSpec("DistilBert", prefix="distilbert.")
    variants = ({}, {"head": "mlm"}, {"head": "mlm", "tied": False})

    head: Literal["none", "mlm"] = "none"
    activation: Activation = option(Function("activation", "gelu"))
    hidden_dropout: bool = option(ProbabilityField("dropout", 0.1))
    attention_dropout: bool = option(ProbabilityField("attention_dropout", 0.1))

    @property
    def segments(self) -> Component | None:
        return None

    @property
    def attention(self) -> SelfAttention:
        return replace(
            super().attention,
            query="q_lin",
            key="k_lin",
            value="v_lin",
            output="out_lin",
            weight_dropout="dropout" if self.attention_dropout else "",
            output_dropout="",
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
