"""A projection between residual streams."""

from __future__ import annotations

from dataclasses import dataclass

from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component


@dataclass(frozen=True, kw_only=True)
class StreamProjection(Component):
    """A matrix that turns the first residual stream into another one, or back, after which each row gets the magnitude
    of the first stream, as in the transformers class of Gemma 3n [google2025].

    >>> StreamProjection().params
    E**2
    """

    title = "Stream projection"
    role = "embeddings"
    purpose = "Streams that differ from the first are computed from it by a matrix."
    shapes = "x[B,S,E], magnitude[B,S,1] -> y[B,S,E]"
    further_inputs = {"magnitude": "is the magnitude of the first residual stream"}

    def forward(self, ops: Operations, x: Tensor, magnitude: Tensor) -> Tensor:
        y = ops.linear("", x, x.width, bias=False)
        return ops.multiply("rescaled", ops.norm("unit", y, "rms", scale=False, bias=False, module=False), magnitude)
