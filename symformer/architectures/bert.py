"""BERT."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sympy import Integer

from ..components.base import Component
from ..components.dropout import Dropout
from ..components.layer_norm import LayerNorm
from ..components.linear import Linear
from ..components.masked_lm_head import MaskedLMHead
from ..components.mlp import MLP
from ..components.pooler import Pooler
from ..components.post_norm_block import PostNormBlock
from ..components.segment_embedding import SegmentEmbedding
from ..components.self_attention import SelfAttention
from ..language.sizes import Divides
from ..language.symbols import A, E, H, L, P, V, V_type
from ..ledger.facts import Activation, Tensor
from ..ledger.operations import Operations
from .base import Chance, Field, Fields, Function, Switch, Witness
from .bases.stacked import Names, Stacked, with_positions


@dataclass(frozen=True, kw_only=True)
class BERT(Stacked):
    """BERT, Devlin et al. 2019 [devlin2019], section 3: a post-norm encoder with learned positions and segments.

    >>> BERT().params
    4*L*E**2 + 2*L*E*H + 9*L*E + L*H + V*E + V_type*E + P*E + E**2 + 3*E
    """

    title = "BERT"
    shapes = "tokens[B,S] -> output"
    names = Names(table="embeddings.word_embeddings", layers="encoder.layer")
    constraints = (Divides(A, E),)

    fields = Fields(
        {
            V: Field(("vocab_size",), 30522),
            P: Field(("max_position_embeddings",), 512),
            V_type: Field(("type_vocab_size",), 2),
            E: Field(("hidden_size",), 768),
            H: Field(("intermediate_size",), 3072),
            L: Field(("num_hidden_layers",), 12),
            A: Field(("num_attention_heads",), 12),
        },
        {
            "tied": Switch("tie_word_embeddings", True),
            "activation": Function("hidden_act", "gelu"),
            "hidden_dropout": Chance("hidden_dropout_prob", 0.1),
            "attention_dropout": Chance("attention_probs_dropout_prob", 0.1),
        },
        model_types=("bert",),
        classes={
            "BertModel": {"head": "pooler"},
            "BertForMaskedLM": {"head": "mlm"},
            "BertForPreTraining": {"head": "pretraining"},
        },
        fixed={"position_embedding_type": ("absolute",), "is_decoder": (False,)},
        inert=(  # written by early releases, and read by no class
            *("directionality", "pooler_type", "pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers"),
            "pooler_size_per_head",
        ),
    )
    witness = Witness("transformers", "BertConfig", prefix="bert.")
    variants = ({}, {"head": "mlm"}, {"head": "pretraining"}, {"head": "mlm", "tied": False})

    head: Literal["pooler", "mlm", "pretraining"] = "pooler"
    tied: bool = True
    activation: Activation = "gelu"
    hidden_dropout: bool = True
    attention_dropout: bool = True

    @property
    def layer(self) -> Component:
        dropped = "output.dropout" if self.hidden_dropout else ""
        attention = SelfAttention(
            heads=A,
            kv_heads=A,
            head_width=E / A,
            causal=False,
            query="self.query",
            key="self.key",
            value="self.value",
            output="output.dense",
            weight_dropout="self.dropout" if self.attention_dropout else "",
            output_dropout=dropped,
        )
        mlp = MLP(
            activation=self.activation,
            up="intermediate.dense",
            act="intermediate.intermediate_act_fn",
            down="output.dense",
            dropout=dropped,
        )
        parts = {"attention": attention, "attention.output.LayerNorm": LayerNorm()}
        return PostNormBlock(parts={**parts, "": mlp, "output.LayerNorm": LayerNorm()}, dropouts=())

    def embed(self, ops: Operations, tokens: Tensor) -> Tensor:
        words, segments = super().embed(ops, tokens), ops.index("segments", *tokens.shape)
        types = ops.call("embeddings.token_type_embeddings", SegmentEmbedding(), segments)
        x = ops.add("embeddings.segments", words, types)
        x = with_positions(ops, "embeddings.position_embeddings", x, added="embeddings.positions")
        x = ops.call("embeddings.LayerNorm", LayerNorm(), x)
        return ops.call("embeddings.dropout", Dropout(), x) if self.hidden_dropout else x

    def finish(self, ops: Operations, x: Tensor) -> Tensor | tuple[Tensor, ...]:
        if self.head == "pooler":
            return ops.call("pooler", Pooler(), x)
        table = ops.weight(f"{self.names.table}.weight")
        logits = ops.call("cls.predictions", MaskedLMHead(tied=self.tied, activation=self.activation), x, table)
        if self.head == "mlm":
            return logits
        pooled = ops.call("pooler", Pooler(), x)
        return logits, ops.call("cls.seq_relationship", Linear(out=Integer(2)), pooled)
