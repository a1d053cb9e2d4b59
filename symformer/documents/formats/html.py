"""HTML: one self-contained file with MathML, an embedded font, and an optional script."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from hashlib import sha256
from html import escape
from itertools import chain, count
from math import inf
from urllib.parse import quote

from markupsafe import Markup

from ...language.notation.display_tree import TensorName, Tree, tree
from ...language.notation.mathml import MathRun as MathPiece
from ...language.notation.mathml import mathml, pieces, sign
from ...language.notation.text import text
from ...output.blocks import (
    Cited,
    Code,
    Computation,
    Document,
    Equation,
    EquationNumber,
    FigureBlock,
    FloatSentence,
    Heading,
    Line,
    Math,
    Piece,
    Ref,
    Table,
)
from .base_language import Language, printable, templates
from .page_layout import EquationLine, Page
from .tex import FORMAT as LATEX

NARROW, WIDE = 24, 44  # maximum characters of a label next to a line, on any screen and on a wide one
FEW = 14  # characters of a cell that need no minimum width
PHONE = 26  # characters of mathematics that fit the narrowest screen


class Screen(Page):
    """A page of unlimited width: the browser breaks lines, and tables scroll."""

    def rows(self, equation: Equation) -> list[EquationLine]:
        """Return every line unbroken."""
        steps = equation.chain.steps
        reasons = [*equation.reasons, *[()] * (len(steps) - len(equation.reasons))]
        return [EquationLine("=", step, reason) for step, reason in zip(steps, reasons, strict=True)]

    def columns(self, table: Table) -> str:
        """Return the alignment, with "w" for columns that would otherwise be squeezed to one word per line."""
        told = [max((_told(cell) for cell in column), default=0) for column in zip(*table.rows, strict=True)]
        kinds = zip(table.align, told or [0] * len(table.align), strict=True)
        return "".join("w" if kind == "l" and length > FEW else kind for kind, length in kinds)


class HTML(Language):
    """A page that is readable with and without scripts, in light and dark mode, on paper and on a phone."""

    template = "derivation.html.jinja"
    marked = False  # whether scripts can find the boxes of figures
    row_break = ""
    page = Screen(figure=(226.0, 466.0), broad=inf, high=inf)  # legible on a phone; a wider figure scrolls

    of_blocks = {
        "equation": ("equation", "room", "scrolls", "latex"),
        "computation": ("computation",),
        "picture": ("picture",),
    }
    of_texts = (*Language.of_texts, "anchor")
    of_itself = ("style", "script", "policy")

    def prepared(self, document: Document) -> Document:
        return _anchored(document)

    def line(self, line: Line) -> Markup:
        return markup("").join(self.piece(piece) for piece in line)

    def piece(self, piece: Piece) -> str:
        return _breaking(piece.shown) if isinstance(piece, Math) else super().piece(piece)

    def prose(self, text: str) -> Markup:
        return markup(escape(printable(text)))

    def code(self, text: str) -> Markup:
        return markup(f"<code>{escape(printable(text))}</code>")

    def strong(self, spelt: str) -> Markup:
        return markup(f"<strong>{spelt}</strong>")

    def math(self, shown: Tree) -> Markup:
        return markup(mathml(shown))

    def inline(self, mathematics: str, shown: Tree) -> Markup:
        return markup(mathematics)

    def equation(self, equation: Equation, row_break: str = "") -> Markup:
        """Return the rows of a grid with two columns: the label and the expression."""
        labels = equation.chain.labels
        signed = [_equal(pieces(label)) if place else pieces(label) for place, label in enumerate(labels)]
        left = "<wbr>".join(_math(each) for each in signed)
        rows = []
        for place, row in enumerate(self.page.rows(equation)):
            because = f' <span class="why">{self.line(row.reason)}</span>' if row.reason else ""
            right = f'<div class="side">{sign("=").element}<div>{_math(pieces(row.shown))}{because}</div></div>'
            rows.append(f'<div class="label">{"" if place else left}</div>{right}')
        return markup("\n".join(rows))

    def computation(self, block: Computation, row_break: str = "") -> Markup:
        """Return the rows of a grid with two columns: the name, and the expression followed by its shape."""
        rows = []
        for each in block.lines:
            shape = self.math(each.shape) + (
                self.ranging(self.math(tree(each.times))) if each.times is not None else ""
            )
            right = f'<div>{_math(pieces(each.shown))} <span class="why">{shape}</span></div>'
            side = f'<div class="side">{sign("=").element}{right}</div>'
            rows.append(f'<div class="label">{self.math(each.name)}</div>{side}')
        return markup("\n".join(rows))

    def picture(self, block: FigureBlock) -> Markup:
        """Return a figure that is legible on a narrow screen."""
        from ..figures.browser_text_width import ScreenRuler  # not needed by pages without figures
        from .inline_svg import svg_element

        return markup(svg_element(block.draw(self.page, ScreenRuler()), self.marked))

    def ranging(self, last: str) -> Markup:
        return markup(f", {mathml(TensorName('n'))} = 1, …, {last}")

    def room(self, equation: Equation) -> str:
        """Return the place of the label: next to the lines on any screen, only on a wide one, or above them."""
        breadth = self._breadth(equation)
        return "beside" if breadth <= NARROW else "near" if breadth <= WIDE else "above"

    def _breadth(self, equation: Equation) -> int:
        return sum(len(text(label)) + 3 for label in equation.chain.labels)

    def scrolls(self, equation: Equation) -> bool:
        """Return True if a line may be wider than the narrowest screen, so that it needs keyboard focus to scroll."""
        before = self._breadth(equation) if self.room(equation) == "beside" else 0
        made = [pieces(label) for label in equation.chain.labels]
        made += [pieces(row.shown) for row in self.page.rows(equation)]
        return before + max(len(piece.alternative) for several in made for piece in several) > PHONE

    def latex(self, equation: Equation) -> Markup:
        """Return the equation in LaTeX for copying, without the reasons."""
        rows = LATEX.equation(replace(equation, reasons=())).split("\n")
        return self.prose("\\begin{aligned}") + "\n" + markup("\n".join(map(self.prose, rows))) + "\n\\end{aligned}"

    def carry_on(self, sign: str, spelt: str) -> str:
        raise NotImplementedError("a browser breaks lines")

    def because(self, spelt: str, below: bool = False) -> str:
        raise NotImplementedError("a browser places reasons")

    def cited(self, key: str, number: int) -> Markup:
        return markup(f'<a href="#{self.anchor("ref:" + key)}">[{number}]</a>')

    def ref(self, id: str, number: int) -> Markup:
        return markup(f'<a href="#{self.anchor("eq:" + id)}">({number})</a>')

    def figure_ref(self, id: str, number: int) -> Markup:
        return markup(f'<a href="#{self.anchor("fig:" + id)}">Figure {number}</a>')

    def table_ref(self, id: str, number: int) -> Markup:
        return markup(f'<a href="#{self.anchor("tab:" + id)}">Table {number}</a>')

    def equation_number(self, id: str, number: int) -> Markup:
        anchor = self.anchor("eq:" + id)
        return markup(
            f'<span id="{self.anchor(id)}"><a id="{anchor}" class="number" href="#{anchor}">({number})</a></span>'
        )

    def columns(self, align: str) -> str:
        """Return the alignment letters, which the template converts to classes."""
        return align

    def anchor(self, id: str) -> Markup:
        """Return an id as an attribute, with spaces escaped."""
        return markup(escape(re.sub(r"[\s%]", lambda found: quote(found[0]), printable(id))))

    @cached_property
    def style(self) -> Markup:
        """The style sheet with the embedded font."""
        font = b64encode((templates() / "fonts" / "symformer-math.woff2").read_bytes()).decode()
        return markup((templates() / "derivation.css").read_text("utf-8").replace("FONT", font))

    @cached_property
    def script(self) -> Markup:
        """The script for copying."""
        return markup((templates() / "derivation.js").read_text("utf-8"))

    @property
    def scripts(self) -> Sequence[Markup]:
        """All scripts."""
        return (self.script,)

    @cached_property
    def policy(self) -> Markup:
        """The content security policy: only this style, these scripts and embedded data."""
        style, script = script_hash(self.style), " ".join(map(script_hash, self.scripts))
        return markup(
            f"default-src 'none'; style-src {style}; script-src {script}; font-src data:; img-src data:; "
            "base-uri 'none'; form-action 'none'"
        )


def markup(spelt: str) -> Markup:
    """Return a string that is already escaped as markup."""
    return Markup(spelt)  # noqa: S704


def script_hash(content: str) -> str:
    """Return the source of a content security policy that allows an inline script or style."""
    return f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'"


def _math(made: Sequence[MathPiece]) -> Markup:
    """Return displayed mathematics with line-break opportunities between the pieces."""
    return markup("<wbr>".join(piece.displayed for piece in made))


def _equal(made: Sequence[MathPiece]) -> list[MathPiece]:
    """Return pieces with an equals sign attached to the first one, so that no line break separates them."""
    equals, first = sign("="), made[0]
    return [MathPiece(equals.content + first.content, f"{equals.alternative} {first.alternative}"), *made[1:]]


def _breaking(shown: Tree) -> Markup:
    return _math(pieces(shown))


def _anchored(document: Document) -> Document:
    """Return a document in which every heading has a unique anchor."""
    taken = {block.anchor for block in document.blocks if isinstance(block, Heading)}

    def named(heading: Heading) -> Heading:
        words = " ".join(map(_words, heading.line))
        slug = re.sub(r"\W+", "-", words.lower()).strip("-") or "section"
        anchor = heading.anchor or next(each for each in _numbered(slug) if each not in taken)
        taken.add(anchor)
        return replace(heading, anchor=anchor)

    blocks = [named(block) if isinstance(block, Heading) else block for block in document.blocks]
    return replace(document, blocks=blocks)


def _told(cell: Line) -> int:
    """Return the number of characters of a cell outside code, where lines may break."""
    return sum(len(_words(piece)) for piece in cell if not isinstance(piece, Code))


def _words(piece: Piece) -> str:
    match piece:
        case str():
            return piece
        case Math(shown):
            return text(shown)
        case Cited() | Ref() | EquationNumber() | FloatSentence():
            return ""
    return piece.text


def _numbered(name: str) -> Iterator[str]:
    return chain([name], (f"{name}-{number}" for number in count(2)))


FORMAT = HTML()
