"""Rotary position embedding."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Expr

from ..language.notation.text import text
from ..language.symbols import A, D, E, S
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component


@dataclass(frozen=True, kw_only=True)
class RotaryPositions(Component):
    """A rotation of queries and keys by their positions, Su et al. 2021 [su2021], eq. 34, without parameters.

    >>> RotaryPositions().params
    0
    """

    title = "Rotary positions"
    role = "attention"

    width: Expr = D  # of the rotated part: the whole head or its first elements; the rest is unchanged

    tokens: Expr = S  # the last tokens, which rotate: all, or those after a prefix without positions
    whole: bool = False  # whether these are whole heads of all tokens, if their numbers do not show it

    @property
    def angles(self) -> str:
        """Return the input of angles, as in ``shapes``."""
        return f"angles[2,{self.tokens},{self.width}]"

    @property
    def shapes(self) -> str:  # type: ignore[override]  # the angles are as wide as the rotated part
        return f"q[B,A,S,D], k[B,G,S,D], {self.angles} -> q_rot[B,A,S,D], k_rot[B,G,S,D]"

    @property
    def about(self) -> str:
        """Return the description, with the rotated part of a head."""
        turned = "Queries and keys are rotated by their positions, Su et al. 2021 [su2021], eq. 34."
        part = f" Only the first {text(self.width)} elements rotate, Black et al. 2022 [black2022], section 2.1.1."
        turned = turned if self.whole or self.width in (D, E / A) else turned + part  # the whole head
        return (
            turned if self.whole or self.tokens == S else f"{turned} Only the last {text(self.tokens)} tokens rotate."
        )

    def forward(self, ops: Operations, q: Tensor, k: Tensor, angles: Tensor) -> tuple[Tensor, Tensor]:
        return ops.rotate("query", q, angles), ops.rotate("key", k, angles)
