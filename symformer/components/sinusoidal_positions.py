"""Sinusoidal positions."""

from __future__ import annotations

from dataclasses import dataclass

from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component


@dataclass(frozen=True, kw_only=True)
class SinusoidalPositions(Component):
    """Fixed sines and cosines, added to the embedding, Vaswani et al. 2017 [vaswani2017], section 3.5.

    >>> SinusoidalPositions().params
    0
    """

    title = "Sinusoidal positions"
    role = "embeddings"
    shapes = "x[B,S,E] -> y[B,S,E]"

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        return ops.add("add", x, ops.positions("", x.shape[1], x.width, "sinusoidal"))
