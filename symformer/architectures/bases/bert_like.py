"""BertLike: token, segment and position embeddings, and bidirectional post-norm layers, with BERT's names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sympy import Expr

from ...components import (
    MLP,
    Component,
    Dropout,
    LayerNorm,
    PositionEmbedding,
    PostNormBlock,
    SegmentEmbedding,
    SelfAttention,
    TokenEmbedding,
)
from ...configs.config_fields import BoolField, Function, ProbabilityField
from ...language.sizes import Divides
from ...language.symbols import A, E
from ...ledger.facts import Activation, Tensor
from ...ledger.operations import Operations
from ..base_architecture import Names, option
from .stacked import Stacked, with_positions

FIXED: Mapping[str, tuple[Any, ...]] = {"position_embedding_type": ("absolute",), "is_decoder": (False,)}


@dataclass(frozen=True, kw_only=True)
class BertLike(Stacked):
    """The base of BERT-like encoders. A subclass overrides the parts that differ, and defines the heads."""

    shapes = "tokens[B,S] -> output"
    names = Names(table="embeddings.word_embeddings", layers="encoder.layer")
    constraints = (Divides(A, E),)

    tied: bool = option(BoolField("tie_word_embeddings", True))
    activation: Activation = option(Function("hidden_act", "gelu"))
    hidden_dropout: bool = option(ProbabilityField("hidden_dropout_prob", 0.1))
    attention_dropout: bool = option(ProbabilityField("attention_probs_dropout_prob", 0.1))

    @property
    def width(self) -> Expr:
        """Return the width of the embeddings."""
        return E

    @property
    def segments(self) -> Component | None:
        """Return the segment table, or None."""
        return SegmentEmbedding(width=self.width)

    @property
    def positions(self) -> PositionEmbedding:
        """Return the position table."""
        return PositionEmbedding(width=self.width)

    @property
    def attention(self) -> SelfAttention:
        """Return the bidirectional attention of a layer."""
        return SelfAttention(
            heads=A,
            kv_heads=A,
            head_width=E / A,
            causal=False,
            query="self.query",
            key="self.key",
            value="self.value",
            output="output.dense",
            weight_dropout="self.dropout" if self.attention_dropout else "",
            output_dropout=self.dropped("output.dropout"),
        )

    @property
    def mlp(self) -> MLP:
        """Return the feed-forward network of a layer."""
        return MLP(
            activation=self.activation,
            up="intermediate.dense",
            act="intermediate.intermediate_act_fn",
            down="output.dense",
            dropout=self.dropped("output.dropout"),
        )

    @property
    def layer(self) -> Component:
        parts = {"attention": self.attention, "attention.output.LayerNorm": LayerNorm()}
        return PostNormBlock(parts={**parts, "": self.mlp, "output.LayerNorm": LayerNorm()}, dropouts=())

    def dropped(self, name: str) -> str:
        """Return the name of a hidden dropout, or "" if the model has none."""
        return name if self.hidden_dropout else ""

    def embed(self, ops: Operations, tokens: Tensor) -> Tensor:
        x = ops.call(self.names.table, TokenEmbedding(width=self.width), tokens)
        if self.segments is not None:
            segments = ops.index("segments", *tokens.shape)
            x = ops.add("embeddings.segments", x, ops.call("embeddings.token_type_embeddings", self.segments, segments))
        x = with_positions(ops, "embeddings.position_embeddings", x, self.positions, "embeddings.positions")
        x = ops.call("embeddings.LayerNorm", LayerNorm(), x)
        return ops.call("embeddings.dropout", Dropout(), x) if self.hidden_dropout else x
