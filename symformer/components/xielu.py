"""xIELU, an activation with two trained parameters."""

from __future__ import annotations

from dataclasses import dataclass

from ..ledger.facts import ONE, Tensor
from ..ledger.operations import Operations
from .base import Component


@dataclass(frozen=True, kw_only=True)
class XIELU(Component):
    """The expanded integral of the exponential linear unit, Huang and Schlag 2024 [huang2024]: a trained multiple of x²
    for positive x, and of exp(x) - 1 - x otherwise, plus x/2.

    >>> XIELU().params
    2
    """

    title = "xIELU"
    role = "MLP"
    shapes = "x[...,H] -> y[...,H]"

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        stored = ops.parameter("", alpha_p=(ONE,), alpha_n=(ONE,))
        return ops.activation("function", x, "xielu", module=False, stored=stored)
