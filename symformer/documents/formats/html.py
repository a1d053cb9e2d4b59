"""HTML: one file that loads nothing, with MathML, an embedded font, and a script that nobody needs."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from hashlib import sha256
from html import escape
from itertools import chain, count
from urllib.parse import quote

from markupsafe import Markup

from ...language.notation.mathml import Piece as MathPiece
from ...language.notation.mathml import mathml, pieces, sign
from ...language.notation.text import text
from ...language.notation.tree import Name, Tree, tree
from ..blocks import Cited, Code, Computation, Document, Equation, Heading, Line, Math, Picture, Piece, Ref, Table
from .language import Language, printable, templates
from .layout import Page, Row
from .tex import FORMAT as LATEX

NARROW, WIDE = 24, 44  # characters of what is explained that stand beside a line, on any screen and on a wide one
FEW = 14  # characters of a cell that need no room of their own
PHONE = 26  # characters of mathematics that fit the narrowest screen


class Screen(Page):
    """No width of paper: a browser breaks lines, and a table scrolls within itself."""

    def rows(self, equation: Equation) -> list[Row]:
        """Every line, each whole."""
        steps = equation.chain.steps
        reasons = [*equation.reasons, *[()] * (len(steps) - len(equation.reasons))]
        return [Row("=", step, reason) for step, reason in zip(steps, reasons, strict=True)]

    def columns(self, table: Table) -> str:
        """The alignment, with those columns told apart that would be squeezed into a word a line."""
        told = [max((_told(cell) for cell in column), default=0) for column in zip(*table.rows, strict=True)]
        kinds = zip(table.align, told or [0] * len(table.align), strict=True)
        return "".join("w" if kind == "l" and length > FEW else kind for kind, length in kinds)


class HTML(Language):
    """A page that reads the same with scripts and without, in light and in dark, on paper and on a phone."""

    template = "derivation.html.jinja"
    row_break = ""
    page = Screen(figure=(226.0, 466.0))  # a column whose smallest type can be read on a phone; of more, it scrolls

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
        """The rows, each a line of a grid of two columns: what is explained, and what it is."""
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
        """The lines, each a line of a grid of two columns, its shape behind it."""
        rows = []
        for each in block.lines:
            shape = self.math(each.shape) + (
                self.ranging(self.math(tree(each.times))) if each.times is not None else ""
            )
            right = f'<div>{_math(pieces(each.shown))} <span class="why">{shape}</span></div>'
            side = f'<div class="side">{sign("=").element}{right}</div>'
            rows.append(f'<div class="label">{self.math(each.name)}</div>{side}')
        return markup("\n".join(rows))

    def picture(self, block: Picture) -> Markup:
        """A figure, no wider than it can be read on a narrow screen."""
        from ..figures.screen import ScreenRuler  # which a page without figures does without
        from .svg import drawn

        return markup(drawn(block.draw(*self.page.figure, ScreenRuler())))

    def ranging(self, last: str) -> Markup:
        return markup(f", {mathml(Name('n'))} = 1, …, {last}")

    def room(self, equation: Equation) -> str:
        """Where what is explained stands: beside the lines on any screen, on a wide one, or above them."""
        breadth = self._breadth(equation)
        return "beside" if breadth <= NARROW else "near" if breadth <= WIDE else "above"

    def _breadth(self, equation: Equation) -> int:
        return sum(len(text(label)) + 3 for label in equation.chain.labels)

    def scrolls(self, equation: Equation) -> bool:
        """Whether some line may be wider than the narrowest screen, so that a keyboard has to reach it."""
        before = self._breadth(equation) if self.room(equation) == "beside" else 0
        made = [pieces(label) for label in equation.chain.labels]
        made += [pieces(row.shown) for row in self.page.rows(equation)]
        return before + max(len(piece.alternative) for several in made for piece in several) > PHONE

    def latex(self, equation: Equation) -> Markup:
        """The same in LaTeX, to copy: what it says, and no reasons."""
        rows = LATEX.equation(replace(equation, reasons=())).split("\n")
        return self.prose("\\begin{aligned}") + "\n" + markup("\n".join(map(self.prose, rows))) + "\n\\end{aligned}"

    def carry_on(self, sign: str, spelt: str) -> str:
        raise NotImplementedError("a browser breaks lines")

    def because(self, spelt: str, below: bool = False) -> str:
        raise NotImplementedError("a browser finds room for a reason")

    def cited(self, key: str, number: int) -> Markup:
        return markup(f'<a href="#{self.anchor("ref:" + key)}">[{number}]</a>')

    def ref(self, id: str, number: int) -> Markup:
        return markup(f'<a href="#{self.anchor("eq:" + id)}">({number})</a>')

    def columns(self, align: str) -> str:
        """Their letters, which the template turns into classes."""
        return align

    def anchor(self, id: str) -> Markup:
        """An id as an attribute: no space may stand in one."""
        return markup(escape(re.sub(r"[\s%]", lambda found: quote(found[0]), printable(id))))

    @cached_property
    def style(self) -> Markup:
        """All of the style, with the font in it."""
        font = b64encode((templates() / "fonts" / "symformer-math.woff2").read_bytes()).decode()
        return markup((templates() / "derivation.css").read_text("utf-8").replace("FONT", font))

    @cached_property
    def script(self) -> Markup:
        """What copies."""
        return markup((templates() / "derivation.js").read_text("utf-8"))

    @property
    def scripts(self) -> Sequence[Markup]:
        """All that runs."""
        return (self.script,)

    @cached_property
    def policy(self) -> Markup:
        """What a browser may load and run: this style, these scripts, and what the file itself holds."""
        style, script = _hash(self.style), " ".join(map(_hash, self.scripts))
        return markup(
            f"default-src 'none'; style-src {style}; script-src {script}; font-src data:; img-src data:; "
            "base-uri 'none'; form-action 'none'"
        )


def markup(spelt: str) -> Markup:
    """What was escaped piece by piece, and is no more."""
    return Markup(spelt)  # noqa: S704


def _hash(content: str) -> str:
    return f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'"


def _math(made: Sequence[MathPiece]) -> Markup:
    """Displayed mathematics in pieces, between which a browser may break the line."""
    return markup("<wbr>".join(piece.displayed for piece in made))


def _equal(made: Sequence[MathPiece]) -> list[MathPiece]:
    """Pieces behind an equals sign, no line of which begins without it."""
    equals, first = sign("="), made[0]
    return [MathPiece(equals.content + first.content, f"{equals.alternative} {first.alternative}"), *made[1:]]


def _breaking(shown: Tree) -> Markup:
    return _math(pieces(shown))


def _anchored(document: Document) -> Document:
    """A document whose headings all have an anchor, no two the same."""
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
    """The characters of a cell that a line may be broken between."""
    return sum(len(_words(piece)) for piece in cell if not isinstance(piece, Code))


def _words(piece: Piece) -> str:
    match piece:
        case str():
            return piece
        case Math(shown):
            return text(shown)
        case Cited() | Ref():
            return ""
    return piece.text


def _numbered(name: str) -> Iterator[str]:
    return chain([name], (f"{name}-{number}" for number in count(2)))


FORMAT = HTML()
