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
    cast: bool = True  # whether what is divided by the root was cast to single precision, which in T5 the root alone is
    late: bool = False  # whether the scale comes before the cast back from single precision, as in OLMo 2

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        plain = "rms_late" if self.late else "rms" if self.cast else "rms_uncast"
        function = "rms_offset" if self.offset else plain
        return ops.norm("", x, function, scale=self.scale, bias=False)
