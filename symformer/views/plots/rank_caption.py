"""The lines below a plot that state the number of ranks of its per-rank numbers."""

from __future__ import annotations

from collections.abc import Sequence

from ...algebra.result_plots import rank_notes
from ...formulas import ranks
from ...formulas.formula import Formula
from ...models.model import Model
from ...output.base_plot import wrapped


def of_one_rank(models: Sequence[tuple[Model, Formula]]) -> list[str]:
    """Return the lines in matplotlib's notation; empty for formulas of whole models."""
    sides = [(model.name, formula.ranks, model.known) for model, formula in models]
    stated = ranks.stated_of_each(sides)
    return [line for each in stated for line in wrapped(rank_notes.line(each))]
