"""PreNormBart: BartLike with the norms before the sublayers, and a norm after each tower."""

from __future__ import annotations

from dataclasses import dataclass

from ...components import Component, LayerNorm, PreNormBlock
from ...ledger.facts import Tensor
from ...ledger.operations import Operations
from .bart_like import BartLike
from .encoder_decoder import Tower


@dataclass(frozen=True, kw_only=True)
class PreNormBart(BartLike):
    """A BART-like model that is pre-norm. A subclass sets its positions."""

    def layer(self, tower: Tower) -> Component:
        parts: dict[str, Component] = {}
        for norm, name, sublayer in self.sublayers(tower):
            parts |= {norm: LayerNorm(), name: sublayer}
        return PreNormBlock(parts=parts, dropout="dropout" if self.dropout else "")

    def finish(self, ops: Operations, tower: Tower, x: Tensor) -> Tensor:
        return ops.call(f"{tower}.layer_norm", LayerNorm(), x)
