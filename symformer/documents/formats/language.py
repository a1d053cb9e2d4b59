"""What a format is; and a language, which spells prose, names and mathematics, and leaves the rest to a template."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ...language.errors import DocumentError
from ...language.notation.tree import Tree
from ..blocks import Cited, Code, Document, Equation, Line, Math, Piece, Ref, Strong
from .layout import A4, Page, tall
from .lengths import FILTERS

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
    page: Page = A4

    def render(self, document: Document, engine: str) -> bytes:
        """What its template makes of a document."""
        return self.spell(document).encode()

    def spell(self, document: Document) -> str:
        """A document in this language."""
        return (
            environment()
            .get_template(self.template)
            .render(document=document, language=self, page=self.page, tall=tall)
        )

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
            case Cited(key, number):
                return self.cited(key, number)
            case Ref(id, number):
                return self.ref(id, number)
        raise TypeError(f"not a piece of a line: {piece!r}")

    def equation(self, equation: Equation, row_break: str = "") -> str:
        """The rows of an aligned equation; each sign stands at the alignment point, and each reason behind its row."""
        *alone, beside = [" = ".join(self.math(label) for label in line) for line in self.page.labels(equation)]
        rows = []
        for row in self.page.rows(equation):
            spelt = self.math(row.shown)
            rows.append(f"&= {spelt}" if row.sign == "=" else self.carry_on(row.sign, spelt))
            if row.reason and self.page.beside(equation, row):
                rows[-1] += self.because(self.line(row.reason))
            elif row.reason:
                rows.append(self.because(self.line(row.reason), below=True))
        over = [f"& {'= ' if index else ''}{labels}" for index, labels in enumerate(alone)]
        # where labels go on from the line above, the alignment point stands before them
        first = f"& = {beside} {rows[0][1:]}" if over and beside else f"{beside} {rows[0]}".lstrip()
        return f"{row_break or self.row_break}\n".join([*over, first, *rows[1:]])

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
    def because(self, spelt: str, below: bool = False) -> str:
        """A reason, behind its row of an equation or as a row below it."""

    @abstractmethod
    def cited(self, key: str, number: int) -> str:
        """A paper's number, which leads to it."""

    @abstractmethod
    def ref(self, id: str, number: int) -> str:
        """An equation's number, which leads to it."""

    @abstractmethod
    def columns(self, align: str) -> str:
        """The columns of a table: l, r, c, and w for one that wraps."""


def printable(text: str) -> str:
    """Text without control characters, which no language prints."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)


@cache
def environment() -> Environment:
    """What reads the templates, each once."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    # The delimiters are ones that none of the languages uses; every value is escaped by the language itself.
    found = Environment(  # noqa: S701
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
    found.filters |= FILTERS
    return found


def templates() -> Path:
    """The folder of templates: inside the package of a wheel, at the top level of the repository."""
    package = Path(__file__).parent.parent.parent
    for folder in (package / "templates", package.parent / "templates"):
        if folder.is_dir():
            return folder
    raise DocumentError(f"the templates of symformer are missing beside {package}; install symformer again")
