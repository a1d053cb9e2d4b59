"""LlamaLike: rotary attention and a gated feed-forward network in pre-norm layers, by Llama's names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from sympy import Expr, Integer

from ...components import Component, GatedMLP, LMHead, ParallelBlock, PreNormBlock, RotaryPositions, SelfAttention
from ...configs.fields import Fields
from ...configs.places import Chance, Function
from ...configs.usual import NO_TABLE
from ...language.sizes import AtMost, Condition, Divides
from ...language.symbols import A, D, D_rope, E, G
from ...ledger.facts import Activation, Scale, Tensor
from ...ledger.operations import Operations
from ..base import Variants, option
from .decoder import HubDecoder

# Rotary positions turn pairs of elements; a query head has one key/value head.
ROTARY_HEADS: tuple[Condition, ...] = (Divides(G, A), Divides(Integer(2), D))
# The same where a part of each head turns; and where that is of width E/A, with a key/value head for each.
PARTLY_ROTARY: tuple[Condition, ...] = (Divides(G, A), Divides(Integer(2), D_rope), AtMost(D_rope, D))
PART_OF_A_HEAD: tuple[Condition, ...] = (Divides(A, E), Divides(Integer(2), D_rope), AtMost(D_rope, E / A))


@dataclass(frozen=True, kw_only=True)
class LlamaLike(HubDecoder):
    """A decoder as Llama has it; a subclass overrides what it has otherwise."""

    constraints = ROTARY_HEADS
    config = Fields(rotary=True, inert=(NO_TABLE,))
    variants: ClassVar[Variants] = ({}, {"tied": True}, {"head": "none"})
    head_width: ClassVar[Expr] = D
    turned: ClassVar[Expr] = D  # of a head, what rotary positions turn
    scale: ClassVar[Scale] = "scores"  # what is divided by the root of a head's width
    capped: ClassVar[bool] = False  # whether scores and logits are drawn within bounds
    rooted: ClassVar[bool] = False  # whether what is embedded is multiplied by the root of its width
    tables: ClassVar[str] = "rotary"  # "rotary_single" where the angles stay in single precision

    activation: Activation = option(Function("hidden_act", "silu"))
    attention_dropout: bool = option(Chance("attention_dropout", 0.0))

    @property
    def rotary_attention(self) -> SelfAttention:
        """Attention without biases, whose queries and keys turn; its softmax is in single precision."""
        return SelfAttention(
            head_width=self.head_width,
            bias=False,
            output_bias=False,
            positions=RotaryPositions(width=D if self.turned == self.head_width else self.turned),
            softmax="float32",
            scale=self.scale,
            capped=self.capped,
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

    def parallel_layer(self, attention: Component, mlp: Component) -> ParallelBlock:
        """A layer of these two side by side, with one norm before both."""
        return ParallelBlock(parts={"input_layernorm": self.norm, "self_attn": attention, "mlp": mlp})

    def embed(self, ops: Operations, tokens: Tensor) -> Tensor:
        x = super().embed(ops, tokens)
        return ops.scale("embed_scale", x, "root") if self.rooted else x

    @property
    def lm_head(self) -> LMHead | None:
        head = super().lm_head
        return replace(head, capped=True) if head and self.capped else head

    def context(self, ops: Operations, tokens: Tensor) -> tuple[Tensor, ...]:
        return (ops.positions("rotary_emb", tokens.shape[1], self.turned, self.tables),)
