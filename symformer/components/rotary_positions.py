"""Rotary positions."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Expr

from ..language.notation.text import text
from ..language.symbols import D
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component


@dataclass(frozen=True, kw_only=True)
class RotaryPositions(Component):
    """Queries and keys turned by their position, Su et al. 2021 [su2021], eq. 34: no weights.

    >>> RotaryPositions().params
    0
    """

    title = "Rotary positions"
    role = "attention"

    width: Expr = D  # of what turns: all of a head, or its first elements, and the rest stays as it is

    @property
    def angles(self) -> str:
        """What it turns by, in a shape line."""
        return f"angles[2,S,{self.width}]"

    @property
    def shapes(self) -> str:  # type: ignore[override]  # as wide as what turns
        return f"q[B,A,S,D], k[B,G,S,D], {self.angles} -> q_rot[B,A,S,D], k_rot[B,G,S,D]"

    @property
    def about(self) -> str:
        """How much of a head turns."""
        turned = "Queries and keys turned by their position, Su et al. 2021 [su2021], eq. 34: no weights."
        part = f" Of a head the first {text(self.width)} elements turn, Black et al. 2022 [black2022], section 2.1.1."
        return turned if self.width == D else turned + part

    def forward(self, ops: Operations, q: Tensor, k: Tensor, angles: Tensor) -> tuple[Tensor, Tensor]:
        return ops.rotate("query", q, angles), ops.rotate("key", k, angles)
