"""Typst."""

from __future__ import annotations

import json
import re

from ...language.notation.text import text
from ...language.notation.tree import Tree
from ...language.notation.typst import typst
from ..blocks import Picture
from .language import Language, broken, environment, parted, printable
from .letters import in_typst, plain


class Typst(Language):
    """Typst, which the PDFs are made from."""

    template = "derivation.typ.jinja"
    quad = "quad"
    row_break = " \\"
    of_blocks = {**Language.of_blocks, "picture": ("picture",)}
    of_texts = (*Language.of_texts, "alignment", "string", "label", "anchor")

    def prose(self, text: str) -> str:
        # two signs in a row would become another: a dash, a quotation mark
        signs = re.sub(r"(-(?=-)|'(?=')|,(?=,)|`(?=`)|[?!](?=`))", rf"\1{_ZERO_WIDTH_SPACE}", text)
        return f"#{_string(parted(signs, _ZERO_WIDTH_SPACE))};"

    def code(self, text: str) -> str:
        return f"#raw({_string(_ZERO_WIDTH_SPACE.join(broken(text)))});"

    def strong(self, spelt: str) -> str:
        return f"#strong[{spelt}]"

    def math(self, shown: Tree) -> str:
        return typst(shown)

    def inline(self, mathematics: str, shown: Tree) -> str:
        return f"#m({_string(text(shown))})[${mathematics}$];"

    def picture(self, block: Picture) -> str:
        """A figure that fits the page, with what it shows in words."""
        drawing = block.draw(*self.page.figure)
        body = str(environment().get_template("figure.typ.jinja").module.place(drawing, self))  # type: ignore[attr-defined]
        scale = round(100 * self.page.enlarged(drawing.width, drawing.height))
        scaled = f"scale({scale}%, reflow: true, {body.strip().removeprefix('#')})"
        caption = f", caption: [{self.line(block.caption)}]" if block.caption else ""
        return f"#figure(kind: image, placement: bottom, gap: 1em, alt: {_string(drawing.alt)}, {scaled}{caption})"

    def string(self, words: str) -> str:
        """A string of the language."""
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

    def label(self, id: str) -> str:
        """What an equation is referred to by."""
        return f"eq:{self.anchor(id)}"

    def anchor(self, id: str) -> str:
        """What a section is referred to by."""
        return plain(id, ".:_-", ":u")

    def columns(self, align: str) -> str:
        return ", ".join("1fr" if column == "w" else "auto" for column in align)

    def alignment(self, align: str) -> str:
        """Typst names alignments apart from columns."""
        return ", ".join({"r": "right", "c": "center"}.get(column, "left") for column in align)


_ZERO_WIDTH_SPACE = "\u200b"


def _string(text: str) -> str:
    kept = re.split(f"([\n{_ZERO_WIDTH_SPACE}])", text)  # the lines of a file that is attached, and where one may end
    told = [each if place % 2 else printable(each) for place, each in enumerate(kept)]
    return json.dumps("".join(told), ensure_ascii=False)


class Printed(Typst):
    """Typst as it is printed, by its own fonts: what these have no glyph for is told by its number."""

    def prose(self, text: str) -> str:
        return super().prose(in_typst(text))

    def code(self, text: str) -> str:
        return super().code(in_typst(text))

    def math(self, shown: Tree) -> str:
        return in_typst(super().math(shown))


FORMAT = Typst()
PRINTED = Printed()
