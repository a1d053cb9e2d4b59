"""Plots as objects: exact values with their names, drawn by matplotlib when they are displayed or written."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from ..language.frozen import Immutable
from .files import check_output, write
from .style import FORMATS, plot_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARGIN = 0.115  # the height of a line below a plot, in inches
ROOM = 74  # the length of such a line, in characters
_WORD = re.compile(r"(?:\\\$|\$(?:\\\$|[^$])*\$|[^\s$])+")  # a word, including any mathematics in it


class Plot(Immutable, ABC):
    """A plot. Notebooks display it; ``write`` writes it to a file with reproducible bytes."""

    notes: Sequence[str]  # lines below the plot, in matplotlib's notation

    @property
    @abstractmethod
    def height(self) -> float:
        """Return the height in inches, without the notes."""

    @abstractmethod
    def draw(self, figure: Figure) -> None:
        """Draw the plot on an empty figure."""

    def with_notes(self, notes: Iterable[str]) -> Self:
        """Return the plot with further lines below it."""
        return replace(self, notes=[*self.notes, *notes])  # type: ignore[type-var]  # each picture is a dataclass

    def content(self, extension: str) -> bytes:
        """Return the bytes of an svg, pdf or png file. Raises DocumentError."""
        lines = [line for note in self.notes for line in wrapped(note)]

        def drawn(figure: Figure) -> None:
            self.draw(figure)
            write_below(figure, lines)

        return plot_bytes(drawn, extension, self.height + MARGIN * len(lines))

    def write(self, path: str) -> None:
        """Write FILE.svg, .pdf or .png, completely or not at all. Raises DocumentError."""
        extension = check_output(path, "a plot", FORMATS)
        write(path, self.content(extension))

    def _repr_svg_(self) -> str:
        return self.content("svg").decode()

    def _repr_png_(self) -> bytes:
        return self.content("png")


def write_below(figure: Figure, lines: Sequence[str]) -> None:
    """Write lines below a plot."""
    if lines:
        figure.supxlabel("\n".join(lines), fontsize=6.5, x=0.02, ha="left", linespacing=1.5)


def wrapped(note: str) -> list[str]:
    """Return a note as lines that fit below a plot, without breaking mathematics.

    >>> [len(line) for line in wrapped("several words " * 12)]
    [69, 69, 27]
    """
    lines = [""]
    for word in _WORD.findall(note):
        longer = f"{lines[-1]} {word}".lstrip()
        if len(re.sub(r"\\[a-z]+|[{}$\\]", "", longer)) > ROOM and lines[-1]:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines
