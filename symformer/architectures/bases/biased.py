"""Biased: LlamaLike with optional biases in attention."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from ...components import Component, GatedMLP, SelfAttention
from ...configs.config_fields import BoolField
from ...configs.field_mapping import Fields
from ..base_architecture import Variants, option
from .llama_like import LlamaLike


@dataclass(frozen=True, kw_only=True)
class Biased(LlamaLike):
    """A decoder with biases of the query, key, value and output projections, either all or none."""

    variants: ClassVar[Variants] = ({}, {"tied": True}, {"attention_bias": True}, {"head": "none"})

    attention_bias: bool = option(BoolField("attention_bias", False))

    @property
    def rotary_attention(self) -> SelfAttention:
        return replace(super().rotary_attention, bias=self.attention_bias, output_bias=self.attention_bias)


@dataclass(frozen=True, kw_only=True)
class BiasedThroughout(Biased):
    """A decoder that also has optional biases in the feed-forward network."""

    variants: ClassVar[Variants] = ({}, {"tied": True}, {"attention_bias": True}, {"mlp_bias": True}, {"head": "none"})

    mlp_bias: bool = option(BoolField("mlp_bias", False))

    @property
    def mlp(self) -> Component:
        return GatedMLP(bias=self.mlp_bias, activation=self.activation)


@dataclass(frozen=True, kw_only=True)
class BiasedAlike(LlamaLike):
    """A decoder with one option for the biases of attention and of the feed-forward network, and without dropout."""

    config = Fields(inert=("attention_dropout",))  # not read by the classes
    attention_dropout: ClassVar[bool] = False  # type: ignore[misc]

    bias: bool = option(BoolField("use_bias", False))

    @property
    def rotary_attention(self) -> SelfAttention:
        return replace(super().rotary_attention, bias=self.bias, output_bias=self.bias)

    @property
    def mlp(self) -> Component:
        return GatedMLP(bias=self.bias, activation=self.activation)
