"""GPTJLike: OpenAILike with rotary positions, and attention and MLP in parallel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from ...components import MLP, Component, LMHead, ParallelBlock, RotaryPositions, SelfAttention
from ...language.sizes import Condition
from ...language.symbols import A, D_rope, E, H, L, V
from ...ledger.facts import Tensor
from ...ledger.operations import Operations
from ..base_architecture import (
    OPENAI,
    BoolField,
    Field,
    Fields,
    Names,
    ProbabilityField,
    Variants,
    option,
    usual,
)
from .llama_like import PART_OF_A_HEAD
from .openai_like import OpenAILike


@dataclass(frozen=True, kw_only=True)
class GPTJLike(OpenAILike):
    """The base of GPT-J and CodeGen, which differ in the weights of their attention."""

    names = Names(table="wte", layers="h", norm="ln_f")
    relations = {H: 4 * E}
    constraints: ClassVar[tuple[Condition, ...]] = PART_OF_A_HEAD
    logits = LMHead(bias=True)
    config = Fields(
        usual({V: 50400, E: 4096, L: 28, A: 16, H: 4 * E, D_rope: Field(("rotary_dim",), 64)}, OPENAI),
        inert=("n_positions", "max_position_embeddings", "n_ctx", "rotary", "scale_attn_weights"),  # no position table
    )
    variants: ClassVar[Variants] = ({}, {"tied": True}, {"head": "none"})

    tied: bool = option(BoolField("tie_word_embeddings", False))
    embedding_dropout: bool = option(ProbabilityField("embd_pdrop", 0.0))
    attention_dropout: bool = option(ProbabilityField("attn_pdrop", 0.0))
    residual_dropout: bool = option(ProbabilityField("resid_pdrop", 0.0))

    @property
    def attention(self) -> SelfAttention:
        plain = replace(super().attention, fused="", bias=False, output_bias=False, output="out_proj")
        return replace(plain, positions=RotaryPositions(width=D_rope), softmax="float32")

    @property
    def mlp(self) -> MLP:
        return replace(super().mlp, up="fc_in", down="fc_out")

    def layer_of(self, attention: SelfAttention) -> Component:
        return ParallelBlock(parts={"ln_1": self.norm, "attn": attention, "mlp": self.mlp})

    def context(self, ops: Operations, tokens: Tensor) -> tuple[Tensor, ...]:
        return (ops.positions("embed_positions", tokens.shape[1], D_rope, "rotary"),)
