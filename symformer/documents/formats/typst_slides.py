"""Slides of 16:9 in Typst, and as PDF."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ...language.errors import DocumentError, alternatives
from ...output.blocks import Equation, FigureBlock
from .base_language import environment
from .column import runs
from .page_layout import EquationLine, Page
from .pdf import typst_pdf
from .slide_layout import BESIDE, FULL
from .typ import PrintableTypst, Typst

if TYPE_CHECKING:
    from ..slide_deck import SlideDeck

FORMATS = ("pdf", "typ")  # that slides are written in


def render_slides(deck: SlideDeck, extension: str) -> bytes:
    """Return slides as the bytes of a file. Raises DocumentError for a format that slides do not have."""
    check_format(extension, f".{extension}")
    if extension == "typ":
        return _spelt(deck, SlideTypst(FULL.page), SlideTypst(BESIDE.page)).encode()
    return typst_pdf(_spelt(deck, PrintableSlides(FULL.page), PrintableSlides(BESIDE.page)))


def check_format(extension: str, place: str) -> None:
    """Raise DocumentError for a format that slides do not have; ``place`` is the output."""
    if extension not in FORMATS:
        known = alternatives(f".{name}" for name in FORMATS)
        raise DocumentError(f"slides are written as {known}, but {place} is .{extension}; change the extension")


_BREAK = "\u200b"
WORD, LONG = 16, 26  # characters of a name, and of a part of it, that is not broken


class SlideTypst(Typst):
    """Typst for the blocks of slides; equations that grow line by line have their last line in colour."""

    template = "slides.typ.jinja"

    def __init__(self, page: Page) -> None:
        self.page = page

    def code(self, text: str) -> str:
        """Return a name; a long one may be broken after each dot, and a long part of it between its words."""
        if len(text) <= WORD:
            return super().code(text)
        parts = [part for part in re.split(r"(?<=\.)", text) if part]
        broken = [_BREAK.join(runs(part)) if len(part) > LONG else part for part in parts]
        return f"#raw({self.string(_BREAK.join(broken))});"

    def row(self, equation: Equation, row: EquationLine) -> str:
        """Return the mathematics of a row; the rows of the last step are in colour."""
        spelt = super().row(equation, row)
        rows = self.page.rows(equation)
        begun = max(place for place, each in enumerate(rows) if each.sign == "=")
        last = any(each is row for each in rows[begun:])
        return f"#text(fill: accent, $display({spelt})$)" if begun and last else spelt

    def picture(self, block: FigureBlock) -> str:
        """Return a figure that fits its place on a slide, with alternative text."""
        drawing = block.draw(self.page)
        body = str(environment().get_template("figure.typ.jinja").module.place(drawing, self))  # type: ignore[attr-defined]
        scale = round(100 * self.page.enlarged(drawing.width, drawing.height))
        scaled = f"scale({scale}%, reflow: true, {body.strip().removeprefix('#')})"
        return f"#figure(kind: image, supplement: none, alt: {self.string(drawing.alt)}, {scaled})"


class PrintableSlides(SlideTypst, PrintableTypst):
    """Slides for PDF, with the embedded fonts of Typst."""


def _spelt(deck: SlideDeck, full: SlideTypst, beside: SlideTypst) -> str:
    template = environment().get_template(full.template)
    return template.render(deck=deck, full=full, beside=beside)
