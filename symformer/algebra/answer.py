"""What a question of the algebra is answered by: the same views of every answer."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from sympy import Expr

from ..language.errors import DocumentError
from ..language.frozen import Immutable
from ..language.notation.cards import Shown
from ..language.notation.text import text
from ..output.files import check_output
from ..output.picture import Picture
from ..output.style import FORMATS
from .pictures import rank_notes

Told = Callable[[int, int], None]  # called with the work done and the total


def untold(done: int, total: int) -> None:
    """Ignore a progress report."""


class Answer(Immutable, Shown):
    """A table, LaTeX, JSON and a plot; a notebook shows the table with its equations."""

    @abstractmethod
    def table(self) -> dict[str, Any]:
        """The rows as columns by name, exact numbers and SymPy expressions: ``pandas.DataFrame(found.table())``."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """What the command prints with ``--json``."""

    @abstractmethod
    def of_ranks(self, spell: Callable[[Expr], str] = text) -> list[str]:
        """Return how many ranks its numbers are of one of, a line for each number of ranks; none for whole models."""

    def latex(self) -> str:
        """Its equations and its table in LaTeX, displayed."""
        card = self.card
        if card is None or not (card.equations or card.table):
            raise DocumentError(f"{self!r} has no equation and no table; print it, or take to_json()")
        return card.latex()

    def plot(self, path: str | None = None) -> Picture:
        """What says it as a picture; with a path also written there, as FILE.svg, .pdf or .png.

        Raises OptionError where a picture would say nothing, SizeError where a number is lacking.
        """
        return self._put(path)

    def _put(self, path: str | None, by: str = "") -> Picture:
        """The picture, in a file too once it is known that one can be written."""
        if path is not None:
            check_output(path, "a plot", FORMATS)
        found = self._picture(by).with_notes(map(rank_notes.line, self.of_ranks(rank_notes.spell)))
        if path is not None:
            found.write(path)
        return found

    @abstractmethod
    def _picture(self, by: str) -> Picture:
        """What is drawn; of one size along the axis where ``by`` names it."""
