"""Root mean square normalisation."""

from __future__ import annotations

from dataclasses import dataclass

from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component


@dataclass(frozen=True, kw_only=True)
class RMSNorm(Component):
    """Root mean square normalisation with a scale of E elements, Zhang and Sennrich 2019 [zhang2019], eq. 4.

    >>> RMSNorm().params
    E
    """

    title = "RMS normalisation"
    role = "norms"
    shapes = "x[...,E] -> y[...,E]"

    scale: bool = True
    offset: bool = False  # whether the scale is stored less one, as Gemma stores it

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        return ops.norm("", x, "rms_offset" if self.offset else "rms", scale=self.scale, bias=False)
