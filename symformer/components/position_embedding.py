"""Learned position embedding."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Expr

from ..language.notation.text import text
from ..language.symbols import E, P
from ..ledger.facts import ONE, ZERO, Tensor
from ..ledger.operations import Operations
from .base import Component


@dataclass(frozen=True, kw_only=True)
class PositionEmbedding(Component):
    """One learned row of E elements per position, Gehring et al. 2017 [gehring2017], section 3.1.

    >>> PositionEmbedding().params
    P*E
    """

    role = "embeddings"
    rows: Expr = P
    width: Expr = E
    skipped: Expr = ZERO  # unused rows before the row of the first position
    fixed: bool = False  # whether the table is stored but not trained, like sinusoidal positions stored as a weight
    held: bool = False  # whether the model stores the indices as a buffer, because the number of positions is fixed
    sequences: Expr = ONE  # the number of sequences with a lookup of their own: 1 for the whole batch, or B

    @property
    def title(self) -> str:  # type: ignore[override]  # depends on whether the table is learned
        return "Stored sinusoidal positions" if self.fixed else "Learned position embedding"

    @property
    def about(self) -> str:
        """Return the description: whether the rows are learned, and which are unused."""
        said = super().about
        if self.fixed:
            said = "One row of E sines and cosines per position, Vaswani et al. 2017 [vaswani2017], section 3.5, "
            said += "stored with the weights but not trained."
        return said if self.skipped == 0 else f"{said} The first {text(self.skipped)} rows are unused."

    @property
    def shapes(self) -> str:  # type: ignore[override]  # depends on the number of lookups
        return f"positions[{self.sequences},S] -> x[{self.sequences},S,E]"

    def forward(self, ops: Operations, positions: Tensor) -> Tensor:
        return ops.lookup(
            "", positions, self.rows, self.width, "positions", skipped=self.skipped, fixed=self.fixed, held=self.held
        )
