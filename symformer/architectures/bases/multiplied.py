"""Multiplied: LlamaLike with constant factors of the embeddings, the scores, each sublayer and the logits."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...components import Component, PreNormBlock
from ...configs.field_mapping import Fields
from ...ledger.facts import Tensor
from ...ledger.operations import Operations
from .biased import Biased


@dataclass(frozen=True, kw_only=True)
class Multiplied(Biased):
    """A decoder with constant factors in four places, as in Granite. The scores are scaled by one of them."""

    scale = "number"
    config = Fields(inert=("embedding_multiplier", "attention_multiplier", "residual_multiplier", "logits_scaling"))

    def pre_norm_layer(self, attention: Component, mlp: Component) -> PreNormBlock:
        return replace(super().pre_norm_layer(attention, mlp), scale="residual_multiplier")

    def embed(self, ops: Operations, tokens: Tensor) -> Tensor:
        return ops.scale("embedding_multiplier", super().embed(ops, tokens))

    def finish(self, ops: Operations, x: Tensor) -> Tensor:
        logits = super().finish(ops, x)
        return ops.scale("logits_scaling", logits, logits=True) if self.head == "lm" else logits
