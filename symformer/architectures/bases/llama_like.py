"""LlamaLike: rotary attention and a gated feed-forward network in pre-norm layers, by Llama's names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from sympy import Integer

from ...components.base import Component
from ...components.gated_mlp import GatedMLP
from ...components.lm_head import LMHead
from ...components.pre_norm_block import PreNormBlock
from ...components.rotary_positions import RotaryPositions
from ...components.self_attention import SelfAttention
from ...configs.fields import Chance, Function, Switch
from ...language.sizes import Condition, Divides
from ...language.symbols import A, D, G
from ...ledger.facts import Activation, Tensor
from ...ledger.operations import Operations
from .decoder import Decoder

# Rotary positions turn pairs of elements; a query head has one key/value head.
ROTARY_HEADS: tuple[Condition, ...] = (Divides(G, A), Divides(Integer(2), D))
OPTIONS: Mapping[str, Switch | Function | Chance] = {
    "tied": Switch("tie_word_embeddings", False),
    "activation": Function("hidden_act", "silu"),
    "attention_dropout": Chance("attention_dropout", 0.0),
}


@dataclass(frozen=True, kw_only=True)
class LlamaLike(Decoder):
    """A decoder as Llama has it; a subclass overrides what it has otherwise."""

    constraints = ROTARY_HEADS
    tables: ClassVar[str] = "rotary"  # "rotary_single" where the angles stay in single precision

    head: Literal["lm", "none"] = "lm"
    tied: bool = False
    activation: Activation = "silu"
    attention_dropout: bool = False

    @property
    def rotary_attention(self) -> SelfAttention:
        """Attention without biases, whose queries and keys turn; its softmax is in single precision."""
        return SelfAttention(
            bias=False,
            output_bias=False,
            positions=RotaryPositions(),
            softmax="float32",
            weight_dropout="attention_dropout" if self.attention_dropout else "",
        )

    @property
    def attention(self) -> Component:
        """The attention of a layer."""
        return self.rotary_attention

    @property
    def mlp(self) -> Component:
        """The feed-forward network of a layer."""
        return GatedMLP(activation=self.activation)

    @property
    def layer(self) -> Component:
        return self.layer_of(self.attention, self.mlp)

    def layer_of(self, attention: Component, mlp: Component) -> Component:
        """A layer of these two, as the model has them."""
        return self.pre_norm_layer(attention, mlp)

    def pre_norm_layer(self, attention: Component, mlp: Component) -> PreNormBlock:
        """A layer of these two, with a norm before each."""
        return PreNormBlock(
            parts={
                "input_layernorm": self.norm,
                "self_attn": attention,
                "post_attention_layernorm": self.norm,
                "mlp": mlp,
            }
        )

    @property
    def lm_head(self) -> LMHead | None:
        return LMHead(tied=self.tied) if self.head == "lm" else None

    def context(self, ops: Operations, tokens: Tensor) -> tuple[Tensor, ...]:
        return (ops.positions("rotary_emb", tokens.shape[1], D, self.tables),)
