"""Adapter of one layer, next to a matrix that several layers share."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Expr

from ..language.symbols import H, R_adapter
from ..ledger.facts import ONE, Tensor
from ..ledger.operations import Operations
from .base import Component


@dataclass(frozen=True, kw_only=True)
class LayerAdapter(Component):
    """Two matrices of rank R_adapter whose product is added to a matrix that several layers share, Glorioso et al. 2024
    [glorioso2024b], section 2. Each layer has an adapter of its own, so the layers still differ.

    >>> LayerAdapter().params
    E*R_adapter + H*R_adapter
    """

    title = "Adapter of one layer"
    role = "other"
    purpose = "Layers that share their weights still differ by small matrices of their own."
    shapes = "x[...,E] -> y[...,H]"

    out: Expr = H

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        return ops.linear("up", ops.linear("down", x, R_adapter, bias=False), self.out, bias=False)

    @staticmethod
    def added(ops: Operations, name: str, x: Tensor, y: Tensor) -> Tensor:
        """Return the output y of a matrix for x, with the output of its adapter added; "" if it has none."""
        if not name:
            return y
        return ops.add(f"{name}_sum", y, ops.call_shared(name, LayerAdapter(out=y.width), x, share=ONE))
