"""Root mean square normalization."""

from __future__ import annotations

from dataclasses import dataclass

from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component


@dataclass(frozen=True, kw_only=True)
class RMSNorm(Component):
    """Root mean square normalization with a scale of E elements, Zhang and Sennrich 2019 [zhang2019], eq. 4.

    >>> RMSNorm().params
    E
    """

    title = "RMS normalization"
    role = "norms"
    shapes = "x[...,E] -> y[...,E]"

    scale: bool = True
    offset: bool = False  # whether the stored parameter is the scale minus one, as in Gemma
    cast: bool = True  # whether the input is cast to single precision; in T5 only the root is computed so
    late: bool = False  # whether the scale is applied before the cast back from single precision, as in OLMo 2
    single: bool = False  # the same, with a scale that is cast to single precision, too, as in Helium

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        plain = "rms_late" if self.late else "rms" if self.cast else "rms_uncast"
        function = "rms_offset" if self.offset else "rms_single" if self.single else plain
        return ops.norm("", x, function, scale=self.scale, bias=False)
