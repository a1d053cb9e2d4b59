"""A learned augmented residual connection (LAuReL)."""

from __future__ import annotations

from dataclasses import dataclass, field

from sympy import Expr

from ..language.symbols import R_lau
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component
from .rms_norm import RMSNorm


@dataclass(frozen=True, kw_only=True)
class Laurel(Component):
    """A learned augmented residual connection of low rank (LAuReL), Menghani et al. 2024 [menghani2024]: x plus the
    normalized product of x with two matrices of rank R_lau.

    >>> Laurel().params
    2*E*R_lau + E
    """

    title = "Learned augmented residual"
    role = "block"
    purpose = "A path of low rank adds to the residual connection at little cost."
    shapes = "x[B,S,E] -> y[B,S,E]"

    rank: Expr = R_lau
    norm: Component = field(default_factory=RMSNorm)

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        low = ops.linear("linear_left", x, self.rank, bias=False)
        y = ops.linear("linear_right", low, x.width, bias=False)
        return ops.add("residual", x, ops.call("post_laurel_norm", self.norm, y))
