"""A narrow hidden layer after a linear layer (adapter)."""

from __future__ import annotations

from dataclasses import dataclass

from ..ledger.adapters import bottleneck
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component


@dataclass(frozen=True, kw_only=True)
class BottleneckAdapter(Component):
    """Two linear layers with a narrow hidden layer and a skip connection, Houlsby et al. 2019 [houlsby2019], figure 2.

    The paper's d and m are E and H_adapter.

    >>> BottleneckAdapter().params
    2*E*H_adapter + E + H_adapter
    """

    title = "Bottleneck adapter"
    role = "other"
    shapes = "x[...,E] -> y[...,E]"

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        return bottleneck(ops, "", x)
