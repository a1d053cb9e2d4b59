"""GPT from scratch."""

from __future__ import annotations

from dataclasses import dataclass

from ..components.base import Component
from ..components.dropout import Dropout
from ..components.layer_norm import LayerNorm
from ..components.lm_head import LMHead
from ..components.mlp import MLP
from ..components.pre_norm_block import PreNormBlock
from ..components.self_attention import SelfAttention
from ..language.sizes import Divides
from ..language.symbols import A, E, L, P, V
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Field, Fields, Switch, Witness
from .bases.decoder import Decoder
from .bases.stacked import Names, with_positions


@dataclass(frozen=True, kw_only=True)
class GPTFromScratch(Decoder):
    """The GPTModel of Raschka 2024 [raschka2024], "Build a Large Language Model (From Scratch)", chapter 4.

    Queries, keys and values have matrices of their own, without bias; the head stores its own.

    >>> GPTFromScratch().params
    12*L*E**2 + 10*L*E + 2*V*E + P*E + 2*E
    """

    title = "GPT from scratch"
    names = Names(table="tok_emb", layers="trf_blocks", norm="final_norm", head="out_head")
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

    @property
    def norm(self) -> Component:
        return LayerNorm()

    @property
    def layer(self) -> Component:
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
        parts: dict[str, Component] = {"norm1": self.norm, "att": attention, "norm2": self.norm, "ff": mlp}
        return PreNormBlock(parts=parts, dropout="drop_shortcut")

    @property
    def lm_head(self) -> LMHead | None:
        return LMHead(tied=self.tied)

    def embed(self, ops: Operations, tokens: Tensor) -> Tensor:
        return ops.call("drop_emb", Dropout(), with_positions(ops, "pos_emb", super().embed(ops, tokens)))
