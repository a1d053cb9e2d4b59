"""Linear layer."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Expr

from ..language.symbols import H
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component


@dataclass(frozen=True, kw_only=True)
class Linear(Component):
    """A linear layer: a matrix of H rows and E columns, and a bias of H elements.

    >>> Linear().params, Linear(bias=False).params
    (E*H + H, E*H)
    """

    title = "Linear"
    role = "other"
    shapes = "x[...,E] -> y[...,H]"

    out: Expr = H
    bias: bool = True

    @property
    def about(self) -> str:
        """Return the description, with the parameters."""
        return f"A matrix of H rows and E columns, {'and a bias of H elements' if self.bias else 'without bias'}."

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        return ops.linear("", x, self.out, bias=self.bias)
