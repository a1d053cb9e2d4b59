"""Multiplied: LlamaLike with constant factors of the embeddings, the scores, the sublayers' outputs and the logits."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...components import Component
from ...configs.field_mapping import Fields
from ...ledger.facts import Tensor
from ...ledger.operations import Operations
from .llama_like import LlamaLike


@dataclass(frozen=True, kw_only=True)
class Multiplied(LlamaLike):
    """A decoder with constant factors in four places, as in Granite."""

    scale = "number"
    config = Fields(inert=("embedding_multiplier", "attention_multiplier", "residual_multiplier", "logits_scaling"))

    def layer_of(self, attention: Component, mlp: Component) -> Component:
        return replace(self.pre_norm_layer(attention, mlp), scale="residual_multiplier")

    def embed(self, ops: Operations, tokens: Tensor) -> Tensor:
        return ops.scale("embedding_multiplier", super().embed(ops, tokens))

    def finish(self, ops: Operations, x: Tensor) -> Tensor:
        logits = super().finish(ops, x)
        return ops.scale("logits_scaling", logits, logits=True) if self.head == "lm" else logits
