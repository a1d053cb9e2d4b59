"""A plot as an object: exact numbers with their names, drawn by matplotlib once it is looked at or written."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from ..language.frozen import Immutable
from .files import check_output, write
from .style import FORMATS, plotted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARGIN = 0.115  # inches that a line below a plot takes
ROOM = 74  # letters of such a line
_WORD = re.compile(r"(?:\\\$|\$(?:\\\$|[^$])*\$|[^\s$])+")  # with the mathematics in it


class Picture(Immutable, ABC):
    """What is drawn. A notebook shows it; ``write`` puts it into a file, the same bytes each time."""

    notes: Sequence[str]  # lines below it, as they are spelt for matplotlib

    @property
    @abstractmethod
    def height(self) -> float:
        """Its height in inches, without the notes."""

    @abstractmethod
    def draw(self, figure: Figure) -> None:
        """Draw it on an empty figure."""

    def with_notes(self, notes: Iterable[str]) -> Self:
        """Return the same with further lines below it."""
        return replace(self, notes=[*self.notes, *notes])  # type: ignore[type-var]  # each picture is a dataclass

    def content(self, extension: str) -> bytes:
        """The file's bytes: svg, pdf or png. Raises DocumentError."""
        lines = [line for note in self.notes for line in wrapped(note)]

        def drawn(figure: Figure) -> None:
            self.draw(figure)
            if lines:
                figure.supxlabel("\n".join(lines), fontsize=6.5, x=0.02, ha="left", linespacing=1.5)

        return plotted(drawn, extension, self.height + MARGIN * len(lines))

    def write(self, path: str) -> None:
        """Write FILE.svg, .pdf or .png, whole or not at all. Raises DocumentError."""
        extension = check_output(path, "a plot", FORMATS)
        write(path, self.content(extension))

    def _repr_svg_(self) -> str:
        return self.content("svg").decode()

    def _repr_png_(self) -> bytes:
        return self.content("png")


def wrapped(note: str) -> list[str]:
    """A note in lines that fit below a plot; mathematics stays whole.

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
