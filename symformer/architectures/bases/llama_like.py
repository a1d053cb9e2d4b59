"""LlamaLike: rotary attention and a gated feed-forward network in pre-norm layers, with Llama's names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sympy import Expr, Integer

from ...components import Component, GatedMLP, ParallelBlock, PreNormBlock, RotaryPositions, SelfAttention
from ...components.rotary_positions import IN_TIME
from ...configs.config_fields import Function, ProbabilityField
from ...configs.field_mapping import Fields
from ...configs.usual_fields import NO_TABLE
from ...language.sizes import AtMost, Condition, Divides
from ...language.symbols import A, D, D_rope, E, G
from ...ledger.facts import INTERLEAVED_ROTARY, Activation, Scale, Tensor
from ...ledger.operations import Operations
from ..base_architecture import Variants, option
from .decoder import HubDecoder

# Rotary embeddings rotate pairs of elements. Each query head has one key/value head.
ROTARY_HEADS: tuple[Condition, ...] = (Divides(G, A), Divides(Integer(2), D))
# If only a part of each head rotates; and the same for multi-head attention with heads of width E/A.
PARTLY_ROTARY: tuple[Condition, ...] = (Divides(G, A), Divides(Integer(2), D_rope), AtMost(D_rope, D))
PART_OF_A_HEAD: tuple[Condition, ...] = (Divides(A, E), Divides(Integer(2), D_rope), AtMost(D_rope, E / A))


@dataclass(frozen=True, kw_only=True)
class LlamaLike(HubDecoder):
    """The base of Llama-like decoders. A subclass overrides the parts that differ."""

    constraints = ROTARY_HEADS
    config = Fields(rotary=True, inert=(NO_TABLE,))
    variants: ClassVar[Variants] = ({}, {"tied": True}, {"head": "none"})
    head_width: ClassVar[Expr] = D
    turned: ClassVar[Expr] = D  # the number of elements of a head that rotate
    scale: ClassVar[Scale] = "scores"  # the tensor that is divided by the square root of the head dimension
    rooted: ClassVar[bool] = False  # whether the embeddings are multiplied by the square root of their width
    mlp_name: ClassVar[str] = "mlp"  # the name of the feed-forward network in torch
    tables: ClassVar[str] = "rotary"  # "rotary_single" if the angles stay in single precision

    activation: Activation = option(Function("hidden_act", "silu"))
    attention_dropout: bool = option(ProbabilityField("attention_dropout", 0.0))

    @property
    def rotary_attention(self) -> SelfAttention:
        """Return rotary attention without biases, with its softmax in single precision."""
        return SelfAttention(
            head_width=self.head_width,
            bias=False,
            output_bias=False,
            positions=RotaryPositions(
                width=D if self.turned == self.head_width else self.turned,
                axes=IN_TIME if self.tables == INTERLEAVED_ROTARY else "",
            ),
            softmax="float32",
            scale=self.scale,
            weight_dropout="attention_dropout" if self.attention_dropout else "",
        )

    @property
    def attention(self) -> Component:
        """Return the attention of a layer."""
        return self.rotary_attention

    @property
    def mlp(self) -> Component:
        """Return the feed-forward network of a layer."""
        return GatedMLP(activation=self.activation)

    @property
    def layer(self) -> Component:
        return self.layer_of(self.attention, self.mlp)

    def layer_of(self, attention: Component, mlp: Component) -> Component:
        """Return a layer with these two sublayers."""
        return self.pre_norm_layer(attention, mlp)

    def pre_norm_layer(self, attention: Component, mlp: Component) -> PreNormBlock:
        """Return a layer with a norm before each of these two sublayers."""
        return PreNormBlock(
            parts={
                "input_layernorm": self.norm,
                "self_attn": attention,
                "post_attention_layernorm": self.norm,
                self.mlp_name: mlp,
            }
        )

    def parallel_layer(self, attention: Component, mlp: Component) -> ParallelBlock:
        """Return a layer with these two sublayers in parallel, and one norm before both."""
        return ParallelBlock(parts={"input_layernorm": self.norm, "self_attn": attention, "mlp": mlp})

    def embed(self, ops: Operations, tokens: Tensor) -> Tensor:
        x = super().embed(ops, tokens)
        return ops.scale("embed_scale", x, "root") if self.rooted else x

    def angles(self, ops: Operations, tokens: Tensor, name: str = "rotary_emb") -> Tensor:
        """Return a rotary table."""
        return ops.positions(name, tokens.shape[1], self.turned, self.tables)

    def context(self, ops: Operations, tokens: Tensor) -> tuple[Tensor, ...]:
        return (self.angles(ops, tokens),)
