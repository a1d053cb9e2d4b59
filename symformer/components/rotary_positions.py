"""Rotary position embedding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sympy import Expr

from ..language.notation.text import text
from ..language.symbols import A, D, D_enc, E, S
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component

GRID = "rows and columns"  # of patches of an image
IN_TIME = "time, height and width"
IDS = "three coordinates"  # of a token of FLUX


@dataclass(frozen=True, kw_only=True)
class RotaryPositions(Component):
    """A rotation of queries and keys by their positions, Su et al. 2021 [su2021], eq. 34, without parameters.

    >>> RotaryPositions().params
    0
    """

    title = "Rotary positions"
    role = "attention"
    purpose = "Without positions, attention would not depend on the order of the tokens."

    width: Expr = D  # of the rotated part: the whole head or its first elements; the rest is unchanged
    keys: bool = True  # whether keys rotate, too
    tokens: Expr = S  # the last tokens, which rotate: all, or those after a prefix without positions
    axes: str = ""  # the numbers that state a position, such as "rows and columns", if it is not one number
    whole: bool = False  # whether these are whole heads of all tokens, if their numbers do not show it

    @property
    def angles(self) -> str:
        """Return the input of angles, as in ``shapes``."""
        return f"angles[2,{self.tokens},{self.width}]"

    @property
    def shapes(self) -> str:  # type: ignore[override]  # the angles are as wide as the rotated part
        if not self.keys:
            return f"q[B,A,S,D], {self.angles} -> q_rot[B,A,S,D]"
        return f"q[B,A,S,D], k[B,G,S,D], {self.angles} -> q_rot[B,A,S,D], k_rot[B,G,S,D]"

    @property
    def about(self) -> str:
        """Return the description, with the rotated part of a head."""
        what = "Queries and keys" if self.keys else "Queries"
        where = f", with angles for {self.axes}" if self.axes else ""
        turned = f"{what} are rotated by their positions{where}, Su et al. 2021 [su2021], eq. 34."
        part = f" Only the first {text(self.width)} elements rotate, Black et al. 2022 [black2022], section 2.1.1."
        turned = turned if self.whole or self.width in (D, D_enc, E / A) else turned + part  # the whole head
        return (
            turned if self.whole or self.tokens == S else f"{turned} Only the last {text(self.tokens)} tokens rotate."
        )

    def forward(self, ops: Operations, q: Tensor, *others: Tensor) -> Any:
        *keys, angles = others
        turned = ops.rotate("query", q, angles)
        return (turned, ops.rotate("key", keys[0], angles)) if self.keys else turned
