"""GPT from scratch."""

from __future__ import annotations

from dataclasses import dataclass

from ..components import MLP, Component, LayerNorm, LMHead, PreNormBlock, SelfAttention
from ..language.sizes import Divides
from ..language.symbols import A, E, L, P, V
from .base_architecture import BoolField, Fields, Names, WitnessSpec, option, usual
from .bases.decoder import Decoder

NAMES = {P: ("context_length",), E: ("emb_dim",), L: ("n_layers",), A: ("n_heads",)}


@dataclass(frozen=True, kw_only=True)
class GPTFromScratch(Decoder):
    """The GPTModel of Raschka 2024 [raschka2024], "Build a Large Language Model (From Scratch)", chapter 4.

    Queries, keys and values have separate matrices without biases. The head is not tied.

    >>> GPTFromScratch().params
    12*L*E**2 + 10*L*E + 2*V*E + P*E + 2*E
    """

    title = "GPT from scratch"
    names = Names(table="tok_emb", positions="pos_emb", layers="trf_blocks", norm="final_norm", head="out_head")
    constraints = (Divides(A, E),)
    norm = LayerNorm()
    config = Fields(usual(dict.fromkeys((V, P, E, L, A)), NAMES), classes={"GPTModel": {}})
    witness = WitnessSpec(
        library="symformer.witness.models.gpt_from_scratch",
        prefix="",
        author="a torch module of symformer's own, written from chapter 4 of the book",
    )
    variants = ({}, {"tied": True}, {"qkv_bias": True})
    embedding_drop = "drop_emb"

    qkv_bias: bool = option(BoolField("qkv_bias", False))
    tied: bool = option(BoolField("tied", False))

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
