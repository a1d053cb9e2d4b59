"""What a format is; and a language, which spells prose, names and mathematics, and leaves the rest to a template."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ...language.errors import DocumentError
from ...language.notation.tree import Tree
from ..blocks import Code, Document, Equation, Line, Math, Piece, Strong

if TYPE_CHECKING:
    from jinja2 import Environment


class Format(ABC):
    """What a document can be written as."""

    @abstractmethod
    def render(self, document: Document, engine: str) -> bytes:
        """A document as the bytes of a file. Raises DocumentError; only a PDF is made by an engine."""


class Language(Format):
    """One language. Every piece of prose and every name goes through ``prose`` and ``code``, which escape it."""

    template: str
    row_break: str  # between the rows of an aligned equation

    def render(self, document: Document, engine: str) -> bytes:
        """What its template makes of a document."""
        return self.spell(document).encode()

    def spell(self, document: Document) -> str:
        """A document in this language."""
        return _environment().get_template(self.template).render(document=document, language=self)

    def line(self, line: Line) -> str:
        """A line of prose, names and mathematics."""
        return "".join(self.piece(piece) for piece in line)

    def piece(self, piece: Piece) -> str:
        """One piece of a line."""
        match piece:
            case str():
                return self.prose(printable(piece))
            case Code(text):
                return self.code(printable(text))
            case Strong(text):
                return self.strong(self.prose(printable(text)))
            case Math(shown):
                return self.inline(self.math(shown))
        raise TypeError(f"not a piece of a line: {piece!r}")

    def equation(self, equation: Equation) -> str:
        """The rows of an aligned equation; each sign stands at the alignment point."""
        *alone, beside = [" = ".join(self.math(label) for label in line) for line in equation.labels]
        rows = [
            f"&= {self.math(shown)}" if sign == "=" else self.carry_on(sign, self.math(shown))
            for sign, shown in equation.rows
        ]
        over = [f"& {'= ' if index else ''}{labels}" for index, labels in enumerate(alone)]
        # where labels go on from the line above, the alignment point stands before them
        first = f"& = {beside} {rows[0][1:]}" if over and beside else f"{beside} {rows[0]}".lstrip()
        return f"{self.row_break}\n".join([*over, first, *rows[1:]])

    @abstractmethod
    def prose(self, text: str) -> str: ...

    @abstractmethod
    def code(self, text: str) -> str: ...

    @abstractmethod
    def strong(self, spelt: str) -> str: ...

    @abstractmethod
    def math(self, shown: Tree) -> str: ...

    @abstractmethod
    def inline(self, mathematics: str) -> str: ...

    @abstractmethod
    def carry_on(self, sign: str, spelt: str) -> str:
        """A row on which a long sum goes on."""

    @abstractmethod
    def columns(self, align: str) -> str:
        """The columns of a table: l, r, c, and w for one that wraps."""


def printable(text: str) -> str:
    """Text without control characters, which no language prints."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)


@cache
def _environment() -> Environment:
    """What reads the templates, each once."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    # The delimiters are ones that none of the languages uses; every value is escaped by the language itself.
    return Environment(  # noqa: S701
        loader=FileSystemLoader(templates()),
        block_start_string="<%",
        block_end_string="%>",
        variable_start_string="<%=",
        variable_end_string="%>",
        comment_start_string="<#",
        comment_end_string="#>",
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )


def templates() -> Path:
    """The folder of templates: inside the package of a wheel, at the top level of the repository."""
    package = Path(__file__).parent.parent.parent
    for folder in (package / "templates", package.parent / "templates"):
        if folder.is_dir():
            return folder
    raise DocumentError(f"the templates of symformer are missing beside {package}; install symformer again")
