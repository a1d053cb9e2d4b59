"""Layer normalization."""

from __future__ import annotations

from dataclasses import dataclass

from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component


@dataclass(frozen=True, kw_only=True)
class LayerNorm(Component):
    """Layer normalization with a scale and a bias of E elements each, Ba et al. 2016 [ba2016], eq. 4.

    >>> LayerNorm().params, LayerNorm(bias=False).params
    (2*E, E)
    """

    title = "Layer normalization"
    role = "norms"
    shapes = "x[...,E] -> y[...,E]"

    scale: bool = True
    bias: bool = True
    cast: bool = False  # whether it is always computed in single precision
    offset: bool = False  # whether the stored parameter is the scale minus one

    @property
    def about(self) -> str:
        """Return the description, with the parameters."""
        both = {
            (True, True): "with a scale and a bias of E elements each",
            (True, False): "with a scale of E elements",
            (False, True): "with a bias of E elements",
            (False, False): "without a scale or a bias",
        }
        return f"Layer normalization {both[self.scale, self.bias]}, Ba et al. 2016 [ba2016], eq. 4."

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        function = "layer_offset" if self.offset else "layer_cast" if self.cast else "layer"
        return ops.norm("", x, function, scale=self.scale, bias=self.bias)
