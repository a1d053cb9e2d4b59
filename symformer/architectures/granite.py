"""Granite."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import Component
from ..language.symbols import A, D, E, G, H, L, V
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base_architecture import HEAD_WIDTH, Fields, WitnessSpec, usual
from .bases.biased import BiasedThroughout


@dataclass(frozen=True, kw_only=True)
class Granite(BiasedThroughout):
    """Granite 3.0, Granite Team 2024 [granite2024]: Llama with constant factors in four places.

    >>> Granite().params
    2*L*E*A*D + 2*L*E*G*D + 3*L*E*H + 2*L*E + 2*V*E + E
    """

    title = "Granite"
    scale = "number"
    config = Fields(
        usual({V: 32000, E: 4096, H: 11008, L: 32, A: 32, G: A, D: HEAD_WIDTH}),
        inert=("embedding_multiplier", "attention_multiplier", "residual_multiplier", "logits_scaling"),
    )
    witness = WitnessSpec("Granite")

    def layer_of(self, attention: Component, mlp: Component) -> Component:
        return replace(self.pre_norm_layer(attention, mlp), scale="residual_multiplier")

    def embed(self, ops: Operations, tokens: Tensor) -> Tensor:
        return ops.scale("embedding_multiplier", super().embed(ops, tokens))

    def finish(self, ops: Operations, x: Tensor) -> Tensor:
        logits = super().finish(ops, x)
        return ops.scale("logits_scaling", logits, logits=True) if self.head == "lm" else logits
