"""The base class of all results of the algebra, with the same views for each."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from ..formulas import ranks
from ..formulas.formula import Formula
from ..language.aliases import Alias
from ..language.errors import DocumentError
from ..language.frozen import Immutable
from ..models.model import Model
from ..output.base_plot import Plot
from ..output.blocks import Equation, Line, Table
from ..output.files import check_output
from ..output.notebook import Shown, mathematics
from ..output.style import FORMATS
from ..output.tabular import Tabular
from .result_plots import rank_notes

Told = Callable[[int, int], None]  # called with the work done and the total


def ignore_progress(done: int, total: int) -> None:
    """Ignore a progress report."""


class Answer(Tabular, Immutable, Shown):
    """A result as a table, LaTeX, JSON and a plot. A notebook shows the table with its equations."""

    @abstractmethod
    def table(self) -> dict[str, Any]:
        """Return the columns by name, with exact numbers and SymPy expressions."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return the data that the command prints with ``--json``."""

    @abstractmethod
    def rank_lines(self) -> list[Line]:
        """Return a line for each number of ranks if the values are per rank, and [] for whole models."""

    def latex(self) -> str:
        """Return the equations and the table in LaTeX, in display style."""
        blocks = self.to_blocks()
        if not any(isinstance(each, Equation | Table) for each in blocks):
            raise DocumentError(f"{self!r} has no equation and no table; print it, or use to_json()")
        return mathematics(blocks)

    def plot(self, path: str | None = None) -> Plot:
        """Plot the result, and write the plot to FILE.svg, .pdf or .png if a path is given.

        Raises OptionError if the result has no plot, and SizeError if a size has no number.
        """
        return self._put(path)

    def _put(self, path: str | None, by: str = "") -> Plot:
        """Return the picture, and write it to a file after checking that the file can be written."""
        if path is not None:
            check_output(path, "a plot", FORMATS)
        found = self._picture(by).with_notes(map(rank_notes.line, self.rank_lines()))
        if path is not None:
            found.write(path)
        return found

    @abstractmethod
    def _picture(self, by: str) -> Plot:
        """Return the picture, with the size ``by`` as the x-axis if it is given."""

    # Former names
    of_ranks = Alias("rank_lines")


class FormulaAnswer(Answer):
    """A result about one formula of a model."""

    model: Model
    formula: Formula

    def rank_lines(self) -> list[Line]:
        """Return the number of ranks if the values are per rank."""
        return ranks.stated(self.formula.ranks, self.model.known)

    def _formula_json(self) -> dict[str, Any]:
        """Return the first entries of the data: the model, the quantity and the formula."""
        return {
            "target": self.model.target,
            "quantity": self.formula.measure.name,
            "unit": self.formula.measure.unit,
            "conventions": dict(self.formula.conventions),
            "formula": self.formula.code(),
            **ranks.facts(self.formula.ranks, self.model.known),
        }
