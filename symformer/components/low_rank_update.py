"""A low-rank update of a linear layer (LoRA)."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Expr

from ..language.symbols import H
from ..ledger.adapters import low_rank
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component


@dataclass(frozen=True, kw_only=True)
class LowRankUpdate(Component):
    """Two matrices of rank R whose product is added to a matrix, Hu et al. 2021 [hu2021], eq. 3.

    The paper's k, d and r are E, H and R.

    >>> LowRankUpdate().params
    E*R + H*R
    """

    title = "Low-rank update"
    role = "other"
    shapes = "x[...,E] -> y[...,H]"

    out: Expr = H

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        return low_rank(ops, "", x, self.out)
