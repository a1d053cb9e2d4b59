"""Base classes: a format, and a language, which writes prose, names and mathematics and fills in a template."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...language.errors import DocumentError
from ...language.notation.display_tree import Tree, tree
from ...output.blocks import (
    Cited,
    Code,
    Computation,
    Contents,
    Document,
    Equation,
    EquationNumber,
    FloatSentence,
    Heading,
    Line,
    Math,
    Piece,
    Ref,
    Strong,
)
from .page_layout import A4, EquationLine, Page, is_tall
from .units import FILTERS

if TYPE_CHECKING:
    from jinja2 import BaseLoader, Environment


# The syntax of all templates, with delimiters that none of the languages uses.
SYNTAX: dict[str, Any] = {
    "block_start_string": "<%",
    "block_end_string": "%>",
    "variable_start_string": "<%=",
    "variable_end_string": "%>",
    "comment_start_string": "<#",
    "comment_end_string": "#>",
    "trim_blocks": True,
    "lstrip_blocks": True,
    "keep_trailing_newline": True,
}


class Format(ABC):
    """A format that a document can be written in."""

    @abstractmethod
    def render(self, document: Document, engine: str) -> bytes:
        """Return a document as the bytes of a file. Raises DocumentError. Only PDF uses the engine."""


class Language(Format):
    """A markup language. All prose and names pass through ``prose`` and ``code``, which escape them."""

    template: str
    row_break: str  # between the rows of an aligned equation
    quad: str  # a space of 1 em
    page: Page = A4
    # The methods a template may call on blocks (by kind), on text, and without arguments, besides the common ones.
    of_blocks: Mapping[str, Sequence[str]] = {"equation": ("equation",), "computation": ("computation",)}
    of_texts: Sequence[str] = ("prose", "code", "columns")
    of_itself: Sequence[str] = ()

    def render(self, document: Document, engine: str) -> bytes:
        """Return a document rendered by the template of this language."""
        return self.spell(document).encode()

    def spell(self, document: Document) -> str:
        """Return a document in this language."""
        template = environment().get_template(self.template)
        title, subtitle, *keywords = map(printable, (document.title, document.subtitle, *document.keywords))
        document = replace(document, title=title, subtitle=subtitle, keywords=keywords)
        return self.completed(
            template.render(document=self.prepared(document), language=self, page=self.page, tall=is_tall)
        )

    def completed(self, spelt: str) -> str:
        """Return the output of a template with any definitions it needs."""
        return spelt

    def prepared(self, document: Document) -> Document:
        """Return a document prepared for the template of this language."""
        return document

    def contents(self, document: Document) -> list[tuple[Heading, list[Heading]]]:
        """Return the chapters of a document with their sections; empty for a document with one chapter."""
        found: list[tuple[Heading, list[Heading]]] = []
        if not any(isinstance(block, Contents) for block in document.blocks):
            return found
        for block in document.blocks:
            if isinstance(block, Heading) and block.level == 1:
                found.append((block, []))
            elif isinstance(block, Heading) and block.level == 2 and found:
                found[-1][1].append(block)
        return found

    def line(self, line: Line) -> str:
        """Return a line of prose, names and mathematics."""
        return "".join(self.piece(piece) for piece in line)

    def piece(self, piece: Piece) -> str:
        """Return one piece of a line."""
        match piece:
            case str():
                return self.prose(printable(piece))
            case Code(text):
                return self.code(printable(text))
            case Strong(text):
                return self.strong(self.prose(printable(text)))
            case Math(shown):
                return self.inline(self.math(shown), shown)
            case Cited(key, number):
                return self.cited(key, number)
            case Ref(id, number):
                return self.ref(id, number)
            case EquationNumber(id, number):
                return self.equation_number(id, number)
            case FloatSentence(words=words, further=further):
                first, *others = map(self._float_ref, (piece, *further))
                between = [self.prose(", ")] * (len(others) - 1) + [self.prose(" and ")]
                named = (part for both in zip(between, others, strict=False) for part in both)
                return first + self.prose("").join(named) + self.prose(f" {words}")
        raise TypeError(f"not a piece of a line: {piece!r}")

    def _float_ref(self, said: FloatSentence) -> str:
        return (self.figure_ref if said.what == "Figure" else self.table_ref)(said.id, said.number)

    def equation(self, equation: Equation, row_break: str = "") -> str:
        """Return the rows of an aligned equation, with signs at the alignment point and each reason after its row."""
        *alone, beside = [" = ".join(self.math(label) for label in line) for line in self.page.labels(equation)]
        rows = []
        for row in self.page.rows(equation):
            spelt = self.row(equation, row)
            rows.append(f"&= {spelt}" if row.sign == "=" else self.carry_on(row.sign, spelt))
            if row.reason and self.page.beside(equation, row):
                rows[-1] += self.because(self.line(row.reason))
            elif row.reason:
                rows.append(self.because(self.line(row.reason), below=True))
        over = [f"& {'= ' if index else ''}{labels}" for index, labels in enumerate(alone)]
        # if the labels continue from the line above, the alignment point is before them
        first = f"& = {beside} {rows[0][1:]}" if over and beside else f"{beside} {rows[0]}".lstrip()
        return f"{row_break or self.row_break}\n".join([*over, first, *rows[1:]])

    def row(self, equation: Equation, row: EquationLine) -> str:
        """Return the mathematics of a row of an equation."""
        return self.math(row.shown)

    def computation(self, block: Computation, row_break: str = "") -> str:
        """Return the rows of a computation, with names at the alignment point and each shape after its row."""
        rows = []
        roomy = self.page.roomy(block)
        for each in block.lines:
            shape = self.math(each.shape)
            if each.times is not None:
                shape += self.ranging(self.math(tree(each.times)))
            rows.append(f"{self.math(each.name)} &= {self.math(each.shown)}")
            if roomy:
                rows[-1] += f" && {self.quad} {shape}"
            else:
                rows.append(f"& {self.quad} {shape}")
        return f"{row_break or self.row_break}\n".join(rows)

    @abstractmethod
    def ranging(self, last: str) -> str:
        """Return the range of layers for which a line holds: n from 1 to the last."""

    @abstractmethod
    def prose(self, text: str) -> str: ...

    @abstractmethod
    def code(self, text: str) -> str: ...

    @abstractmethod
    def strong(self, spelt: str) -> str: ...

    @abstractmethod
    def math(self, shown: Tree) -> str: ...

    @abstractmethod
    def inline(self, mathematics: str, shown: Tree) -> str:
        """Return inline mathematics; ``shown`` is its tree."""

    @abstractmethod
    def carry_on(self, sign: str, spelt: str) -> str:
        """Return a row that continues a long sum."""

    @abstractmethod
    def because(self, spelt: str, below: bool = False) -> str:
        """Return a reason, after its row of an equation or as a row below it."""

    @abstractmethod
    def cited(self, key: str, number: int) -> str:
        """Return the number of a paper, linked to its reference."""

    @abstractmethod
    def ref(self, id: str, number: int) -> str:
        """Return the number of an equation, linked to it."""

    @abstractmethod
    def figure_ref(self, id: str, number: int) -> str:
        """Return the word figure and the number of a figure, linked to it."""

    @abstractmethod
    def table_ref(self, id: str, number: int) -> str:
        """Return the word table and the number of a table, linked to it."""

    @abstractmethod
    def equation_number(self, id: str, number: int) -> str:
        """Return the number of an equation in a cell of a table, with the anchor that references lead to."""

    @abstractmethod
    def columns(self, align: str) -> str:
        """Return the column specification of a table from l, r, c, and w for a column that wraps."""


def printable(text: str) -> str:
    """Return text with unprintable characters replaced."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)


LONG_WORD = 60  # characters of a word that fits a line
LONG_PART = 40  # characters of a part that fits a table cell
SYLLABLE = 5  # characters per piece of a longer part


# An option within code, such as "--structure", which no line may break: a copied command would not run.
OPTION = re.compile(r"(?<!\S)(--[A-Za-z]\S{0,40})(?!\S)")


def break_name(text: str) -> list[str]:
    """Split a name where lines may break: a word too long for a line at its dots, and a part that is still too long
    anywhere.

    >>> break_name("a name of many words, none of which is long")
    ['a name of many words, none of which is long']
    >>> [len(each) for each in break_name("layers.*." + "a" * 52)]
    [7, 2, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 2]
    """
    found: list[str] = []
    for place, words in enumerate(re.split(rf"(\S{{{LONG_WORD + 1},}})", text)):  # each second one is a long word
        if place % 2 == 0:
            found.append(words)
            continue
        for part in re.findall(r"[^.]*\.|[^.]+", words):
            found += re.findall(rf".{{1,{SYLLABLE}}}", part) if len(part) > LONG_PART else [part]
    return [piece for piece in found if piece] or [text]


def with_break_points(text: str, between: str) -> str:
    """Return text with break points between the digit groups of numbers too long for a cell, and in words too long
    for a line.

    >>> with_break_points("of 1,000", "|"), with_break_points("1" + ",000" * 10, "|")[:12]
    ('of 1,000', '1,|000,|000,')
    """
    numbers = _LONG_NUMBER.sub(lambda found: found[0].replace(",", f",{between}"), text)
    return numbers if numbers != text else between.join(break_name(text))


_NUMBERED = re.compile(r"\b(sections?|eqs?\.|tables?|figures?|appendix) (?=[\dA-Z])", re.IGNORECASE)


def tied(text: str, space: str) -> str:
    """Return text with a space that does not end a line before the number of a section, an equation or a table.

    >>> tied("Vaswani et al. 2017, section 3.3, eq. 2", "~")
    'Vaswani et al. 2017, section~3.3, eq.~2'
    """
    return _NUMBERED.sub(lambda found: found[1] + space, text)


_LONG_NUMBER = re.compile(rf"\d{{1,3}}(?:,\d{{3}}){{{LONG_PART // 4},}}")


@cache
def environment() -> Environment:
    """Return the Jinja environment that loads the templates."""
    from jinja2 import Environment, StrictUndefined

    # None of the languages uses these delimiters. Each language escapes its values itself; HTML also escapes the values
    # in attributes and in the head of a page.
    found = Environment(
        loader=_loader(),
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
        autoescape=lambda name: name is not None and name.endswith(".html.jinja"),  # noqa: S701
    )
    found.filters |= FILTERS
    return found


def templates() -> Traversable:
    """Return the folder of templates: inside the package in a wheel, at the top level in the repository."""
    package = files("symformer")
    for folder in (package / "templates", Path(str(package)).parent / "templates"):
        if folder.is_dir():
            return folder
    raise DocumentError(f"the templates of symformer are missing next to {package}; reinstall symformer")


def _loader() -> BaseLoader:
    """Return the loader of the templates, which in a wheel may be in an archive."""
    from jinja2 import FileSystemLoader, PackageLoader

    folder = templates()
    return FileSystemLoader(folder) if isinstance(folder, Path) else PackageLoader("symformer", "templates")
