"""Typst."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...language.notation.display_tree import Minus, Sum, Tree
from ...language.notation.text import text
from ...language.notation.typst import typst
from ...output.blocks import FigureBlock, Line, Math
from .base_language import OPTION, Language, break_name, environment, printable, tied, with_break_points
from .missing_glyphs import plain_id, replace_in_typst
from .page_layout import breadth
from .units import number, points

if TYPE_CHECKING:
    from ..figures.primitives import Drawing


_LONG_PATH = re.compile(r"(?=.{21,})\w+(\.\w+)+")
_VALUE = re.compile(r"=\S+")  # of a size, without spaces around the sign
KEPT = 30  # characters of mathematics that no line break divides


class Typst(Language):
    """Typst, the source of the PDFs."""

    template = "derivation.typ.jinja"
    quad = "quad"
    row_break = " \\"
    of_blocks = {**Language.of_blocks, "picture": ("picture",)}
    of_texts = (*Language.of_texts, "alignment", "string", "label", "anchor")

    def prose(self, text: str) -> str:
        # two signs in a row would become a ligature: a dash, a quotation mark
        signs = re.sub(r"(-(?=-)|'(?=')|,(?=,)|`(?=`)|[?!](?=`))", rf"\1{_ZERO_WIDTH_SPACE}", text)
        return f"#{_string(with_break_points(tied(signs, _NO_BREAK_SPACE), _ZERO_WIDTH_SPACE))};"

    def code(self, text: str) -> str:
        words = (
            f"#box(raw({_string(each)}));" if place % 2 else f"#raw({_string(_with_path_breaks(each))});"
            for place, each in enumerate(OPTION.split(text))
            if each
        )
        return "".join(words)

    def strong(self, spelt: str) -> str:
        return f"#strong[{spelt}]"

    def math(self, shown: Tree) -> str:
        return typst(shown)

    def inline(self, mathematics: str, shown: Tree) -> str:
        """Return mathematics that no line break divides, or, if it is a long sum, only before a sign."""
        if breadth(shown) <= KEPT or not isinstance(shown, Sum):
            whole = f"#m({_string(text(shown))})[${mathematics}$];"
            return f"#box[{whole}];" if breadth(shown) <= KEPT else whole
        first, *others = shown.terms
        spelt = [f"#box[#m({_string(text(first))})[${self.math(first)}$];];"]
        for term in others:
            sign = "-" if isinstance(term, Minus) else "+"
            said = _string(f"{sign} {text(term).removeprefix('-')}")
            operand = self.math(term).removeprefix("-")
            spelt.append(f'#box[#m({said})[$class("normal", {sign}) med {operand}$];];')
        return " ".join(spelt)

    def line(self, line: Line) -> str:
        """Return a line of prose, names and mathematics, with an equals sign on the line of what follows it."""
        spelt: list[str] = []
        left = list(line)
        while left:
            piece = left.pop(0)
            after = left[0] if left else ""
            if piece == " = " and isinstance(after, Math) and breadth(after.shown) <= KEPT:
                spelt.append(f' #box[#"= ";{self.piece(left.pop(0))}];')
            elif isinstance(piece, Math) and isinstance(after, str) and (value := _VALUE.match(after)):
                spelt.append(f"#box[{self.piece(piece)}{self.prose(value[0])}];")
                left[0] = after[value.end() :]
            elif piece:
                spelt.append(self.piece(piece))
        return "".join(spelt)

    def picture(self, block: FigureBlock) -> str:
        """Return a figure that fits the page, with alternative text."""
        if block.overviews is not None:
            return self._filling(block.overviews(self.page), block)
        drawing = block.draw(self.page)
        scale = round(100 * self.page.enlarged(drawing.width, drawing.height))
        scaled = f"scale({scale}%, reflow: true, {self._body(drawing)})"
        caption = f", caption: [{self.line(block.caption)}]" if block.caption else ""
        placement = "bottom" if block.floats else "none"
        drawn = (
            f"#figure(kind: image, placement: {placement}, gap: 1em, alt: {_string(drawing.alt)}, {scaled}{caption})"
        )
        return f"{drawn} <{self.figure_label(block.id)}>" if block.caption and block.id else drawn

    def _body(self, drawing: Drawing) -> str:
        """Return the code of a drawing."""
        body = str(environment().get_template("figure.typ.jinja").module.place(drawing, self))  # type: ignore[attr-defined]
        return body.strip().removeprefix("#")

    def _filling(self, drawings: Sequence[Drawing], block: FigureBlock) -> str:
        """Return a figure for the rest of the page: the first drawing that is legible there, if any."""
        choices = [
            f"({points(each.width)}, {points(each.height)}, {number(each.least_scale)}, {_string(each.alt)}, "
            f"{self._body(each)})"
            for each in drawings
        ]
        return _FILLING.format(
            drawings=",\n".join(choices), caption=self.line(block.caption), largest=number(self.page.largest)
        )

    def string(self, words: str) -> str:
        """Return a Typst string literal."""
        return _string(words)

    def carry_on(self, sign: str, spelt: str) -> str:
        return f'& quad "" {sign} {spelt}'

    def ranging(self, last: str) -> str:
        return f", quad n = 1, dots, {last}"

    def because(self, spelt: str, below: bool = False) -> str:
        return f"& quad #[{spelt}]" if below else f"&& quad #[{spelt}]"

    def cited(self, key: str, number: int) -> str:
        return f"#link(<ref:{key}>)[[{number}]];"

    def ref(self, id: str, number: int) -> str:
        return f"#link(<{self.label(id)}>)[({number})];"

    def figure_ref(self, id: str, number: int) -> str:
        return f"#link(<{self.figure_label(id)}>)[Figure~{number}];"

    def table_ref(self, id: str, number: int) -> str:
        return f"#link(<tab:{self.anchor(id)}>)[Table~{number}];"

    def equation_number(self, id: str, number: int) -> str:
        return f"#[#box[({number})]<{self.label(id)}>]"

    def label(self, id: str) -> str:
        """Return the label of an equation."""
        return f"eq:{self.anchor(id)}"

    def figure_label(self, id: str) -> str:
        """Return the label of a figure."""
        return f"fig:{self.anchor(id)}"

    def anchor(self, id: str) -> str:
        """Return the anchor of a section."""
        return plain_id(id, ".:_-", ":u")

    def columns(self, align: str) -> str:
        return ", ".join("1fr" if column == "w" else "auto" for column in align)

    def alignment(self, align: str) -> str:
        """Return the alignments of a table, which Typst separates from its columns."""
        return ", ".join({"r": "right", "c": "center"}.get(column, "left") for column in align)


# ``layout`` tells the height that is left; it has no limit while the height of the page is measured.
_FILLING = """#block(width: 100%, height: 1fr, layout(size => {{
  let caption = [{caption}]
  let room = size.height - measure(block(width: size.width, [Figure 1: #caption])).height - 2 * 12pt
  for (width, height, least, alt, body) in (
{drawings},
) {{
    let factor = calc.min({largest}, size.width / width, room / height)
    if room < 2000pt and factor >= least {{
      return figure(kind: image, gap: 12pt, alt: alt, scale(factor * 100%, reflow: true, body), caption: caption)
    }}
  }}
}}))"""

_ZERO_WIDTH_SPACE = "\u200b"
_NO_BREAK_SPACE = "\u00a0"


def _with_path_breaks(text: str) -> str:
    spelt = _ZERO_WIDTH_SPACE.join(break_name(text))
    if "*" in text or _LONG_PATH.fullmatch(text):  # the path of modules, also in a narrow column of a table
        spelt = re.sub(r"(?<=[._])(?=[A-Za-z_*])", _ZERO_WIDTH_SPACE, spelt)
    return spelt


def _string(text: str) -> str:
    # Keep the line breaks of attached files, the break points, and the spaces that do not break.
    kept = re.split(f"([\n{_ZERO_WIDTH_SPACE}{_NO_BREAK_SPACE}])", text)
    told = [each if place % 2 else printable(each) for place, each in enumerate(kept)]
    return json.dumps("".join(told), ensure_ascii=False)


class PrintableTypst(Typst):
    """Typst for PDFs with its embedded fonts: characters that these lack are written as code points."""

    def prose(self, text: str) -> str:
        return super().prose(replace_in_typst(text))

    def code(self, text: str) -> str:
        return super().code(replace_in_typst(text))

    def math(self, shown: Tree) -> str:
        return replace_in_typst(super().math(shown))


FORMAT = Typst()
PRINTED = PrintableTypst()
