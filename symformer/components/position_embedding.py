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
    """One learned row of E elements a position, Gehring et al. 2017 [gehring2017], section 3.1.

    >>> PositionEmbedding().params
    P*E
    """

    role = "embeddings"
    rows: Expr = P
    width: Expr = E
    skipped: Expr = ZERO  # rows before the first position's, which no position reads
    fixed: bool = False  # whether it is stored and never trained, as sines are where they are a weight
    held: bool = False  # whether the model holds the indices too, since every row has its place in what it reads
    sequences: Expr = ONE  # for how many they are looked up: for one, which the batch shares, or for each of B

    @property
    def title(self) -> str:  # type: ignore[override]  # whether they are learned
        return "Stored sinusoidal positions" if self.fixed else "Learned position embedding"

    @property
    def about(self) -> str:
        """Whether its rows are learned, and which of them no position has."""
        said = super().about
        if self.fixed:
            said = "One row of E sines and cosines a position, Vaswani et al. 2017 [vaswani2017], section 3.5: stored "
            said += "with the weights, and never trained."
        return said if self.skipped == 0 else f"{said} The first {text(self.skipped)} rows are no position's."

    @property
    def shapes(self) -> str:  # type: ignore[override]  # as often as they are looked up
        return f"positions[{self.sequences},S] -> x[{self.sequences},S,E]"

    def forward(self, ops: Operations, positions: Tensor) -> Tensor:
        return ops.lookup(
            "", positions, self.rows, self.width, "positions", skipped=self.skipped, fixed=self.fixed, held=self.held
        )
