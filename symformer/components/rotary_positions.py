"""Rotary positions."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Expr

from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component


@dataclass(frozen=True, kw_only=True)
class RotaryPositions(Component):
    """Queries and keys turned by their position, Su et al. 2021 [su2021], eq. 34: nothing is stored.

    Where only ``turned`` elements of each head turn, the others are set beside them again.

    >>> RotaryPositions().params
    0
    """

    title = "Rotary positions"
    role = "attention"

    turned: Expr | None = None  # how many elements of each head turn, the first of them; None: all

    @property
    def shapes(self) -> str:  # type: ignore[override]  # the angles are of what turns
        width = "D" if self.turned is None else "D_rope"
        return f"q[B,A,S,D], k[B,G,S,D], angles[2,S,{width}] -> q_rot[B,A,S,D], k_rot[B,G,S,D]"

    def forward(self, ops: Operations, q: Tensor, k: Tensor, angles: Tensor) -> tuple[Tensor, Tensor]:
        return self._turn(ops, "query", q, angles), self._turn(ops, "key", k, angles)

    def _turn(self, ops: Operations, name: str, x: Tensor, angles: Tensor) -> Tensor:
        if self.turned is None:
            return ops.rotate(name, x, angles)
        turned, rest = ops.split(x, (self.turned, x.width - self.turned))
        return ops.join(f"{name}_whole", ops.rotate(name, turned, angles), rest)
