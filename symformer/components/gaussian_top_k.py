"""Gaussian top-k."""

from __future__ import annotations

from dataclasses import dataclass

from ..ledger.facts import GAUSSIAN_TOP_K, Tensor
from ..ledger.operations import Operations
from .base import Component


@dataclass(frozen=True, kw_only=True)
class GaussianTopK(Component):
    """Statistical top-k, You et al. 2025 [you2025]: a threshold that about k elements of each row exceed, the mean of
    the row plus a multiple of its standard deviation, as if the elements were normally distributed. The threshold is
    subtracted from every element, and negative differences become 0.

    No sorting is necessary, and every product with the sparse row is still computed.

    >>> GaussianTopK().params
    0
    """

    title = "Gaussian top-k"
    role = "MLP"
    shapes = "x[...,H] -> y[...,H]"

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        return ops.norm("", x, GAUSSIAN_TOP_K, scale=False, bias=False, module=False)
