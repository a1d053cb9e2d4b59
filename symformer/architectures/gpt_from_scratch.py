"""GPT from scratch."""

from __future__ import annotations

from dataclasses import dataclass

from ..components.dropout import Dropout
from ..components.layer_norm import LayerNorm
from ..components.lm_head import LMHead
from ..components.mlp import MLP
from ..components.position_embedding import PositionEmbedding
from ..components.pre_norm_block import PreNormBlock
from ..components.self_attention import SelfAttention
from ..components.token_embedding import TokenEmbedding
from ..language.sizes import Divides
from ..language.symbols import A, E, L, P, V
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Architecture, Field, Fields, Switch, Witness


@dataclass(frozen=True, kw_only=True)
class GPTFromScratch(Architecture):
    """The GPTModel of Raschka 2024 [raschka2024], "Build a Large Language Model (From Scratch)", chapter 4.

    Queries, keys and values have matrices of their own, without bias; the head stores its own.

    >>> GPTFromScratch().params
    12*L*E**2 + 10*L*E + 2*V*E + P*E + 2*E
    """

    title = "GPT from scratch"
    shapes = "tokens[B,S] -> logits[B,S,V]"
    constraints = (Divides(A, E),)

    fields = Fields(
        {
            V: Field(("vocab_size",)),
            P: Field(("context_length",)),
            E: Field(("emb_dim",)),
            L: Field(("n_layers",)),
            A: Field(("n_heads",)),
        },
        {"qkv_bias": Switch("qkv_bias", False), "tied": Switch("tied", False)},
        classes={"GPTModel": {}},
    )
    witness = Witness(
        "symformer.witness.models.gpt_from_scratch",
        author="a torch module of symformer's own, written to the book's chapter 4",
    )
    variants = ({}, {"tied": True}, {"qkv_bias": True})

    qkv_bias: bool = False
    tied: bool = False

    def forward(self, ops: Operations, tokens: Tensor) -> Tensor:
        attention = SelfAttention(
            heads=A,
            kv_heads=A,
            head_width=E / A,
            bias=self.qkv_bias,
            query="W_query",
            key="W_key",
            value="W_value",
            output="out_proj",
            weight_dropout="dropout",
        )
        mlp = MLP(hidden=4 * E, up="layers.0", act="layers.1", down="layers.2")
        block = PreNormBlock(
            parts={"norm1": LayerNorm(), "att": attention, "norm2": LayerNorm(), "ff": mlp},
            dropout="drop_shortcut",
        )
        places = ops.index("positions", 1, tokens.shape[1])
        x = ops.add(
            "embed",
            ops.call("tok_emb", TokenEmbedding(), tokens),
            ops.call("pos_emb", PositionEmbedding(), places),
        )
        x = ops.call("drop_emb", Dropout(), x)
        x = ops.repeat("trf_blocks", L, block, x)
        x = ops.call("final_norm", LayerNorm(), x)
        return ops.call("out_head", LMHead(tied=self.tied), x, ops.weight("tok_emb.weight"))
