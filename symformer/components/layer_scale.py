"""LayerScale."""

from __future__ import annotations

from dataclasses import dataclass

from ..ledger.facts import ONE, Tensor
from ..ledger.operations import Operations
from .base import Component


@dataclass(frozen=True, kw_only=True)
class LayerScale(Component):
    """A learned factor per element of a sublayer's output, Touvron et al. 2021 [touvron2021b], section 2.

    >>> LayerScale().params
    E
    """

    title = "LayerScale"
    role = "block"
    shapes = "x[B,S,E] -> y[B,S,E]"

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        factors = ops.learned("lambda1", x.width)
        return ops.multiply("product", x, factors.view((ONE, ONE, x.width)))
