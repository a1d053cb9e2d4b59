"""GPT-J."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import MLP, Component, LMHead, ParallelBlock, RotaryPositions, SelfAttention
from ..language.symbols import A, D_rope, E, H, L, V
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base_architecture import (
    OPENAI,
    OWN_ATTENTION,
    BoolField,
    Field,
    Fields,
    Names,
    ProbabilityField,
    WitnessSpec,
    option,
    usual,
)
from .bases.llama_like import PART_OF_A_HEAD
from .bases.openai_like import OpenAILike


@dataclass(frozen=True, kw_only=True)
class GPTJ(OpenAILike):
    """GPT-J, Wang and Komatsuzaki 2021 [wang2021]: parallel attention and MLP with one norm for both.

    Only a part of each head rotates. The MLP and the head have biases, attention has none.

    >>> GPTJ().params
    12*L*E**2 + 7*L*E + 2*V*E + V + 2*E
    """

    title = "GPT-J"
    names = Names(table="wte", layers="h", norm="ln_f")
    relations = {H: 4 * E}
    constraints = PART_OF_A_HEAD
    logits = LMHead(bias=True)
    config = Fields(
        usual({V: 50400, E: 4096, L: 28, A: 16, H: 4 * E, D_rope: Field(("rotary_dim",), 64)}, OPENAI),
        inert=("n_positions", "max_position_embeddings", "n_ctx", "rotary", "scale_attn_weights"),  # no position table
    )
    witness = WitnessSpec("GPTJ", prefix="transformer.", activation_refusal=OWN_ATTENTION)
    variants = ({}, {"tied": True}, {"head": "none"})

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
