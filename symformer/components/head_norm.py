"""Per-head normalization."""

from __future__ import annotations

from dataclasses import dataclass

from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component


@dataclass(frozen=True, kw_only=True)
class HeadNorm(Component):
    """Layer normalization of each query and key head separately, with D scales per head, Dehghani et al. 2023
    [dehghani2023], section 2.

    >>> HeadNorm().params
    A*D
    """

    title = "Per-head normalization"
    role = "norms"
    shapes = "x[B,A,S,D] -> y[B,A,S,D]"

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        return ops.norm("", x, "layer", bias=False, each=(x.shape[1],))
