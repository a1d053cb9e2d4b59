"""Pooler."""

from __future__ import annotations

from dataclasses import dataclass

from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component


@dataclass(frozen=True, kw_only=True)
class Pooler(Component):
    """A linear layer and a tanh, applied to the first token, Devlin et al. 2019 [devlin2019], section 3.

    >>> Pooler().params
    E**2 + E
    """

    title = "Pooler"
    role = "head"
    shapes = "x[B,S,E] -> y[B,E]"

    dense: str = "dense"
    act: str = "activation"

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        return ops.activation(self.act, ops.linear(self.dense, ops.select("first", x), x.width), "tanh")
