"""Typst."""

from __future__ import annotations

import json

from ...language.notation.text import text
from ...language.notation.tree import Tree
from ...language.notation.typst import typst
from ..blocks import Picture
from .language import Language, broken, environment


class Typst(Language):
    """Typst, which the PDFs are made from."""

    template = "derivation.typ.jinja"
    quad = "quad"
    row_break = " \\"
    of_blocks = {**Language.of_blocks, "picture": ("picture",)}
    of_texts = (*Language.of_texts, "alignment", "string")

    def prose(self, text: str) -> str:
        return f"#{_string(text)};"

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
        return f"#link(<eq:{id}>)[({number})];"

    def columns(self, align: str) -> str:
        return ", ".join("1fr" if column == "w" else "auto" for column in align)

    def alignment(self, align: str) -> str:
        """Typst names alignments apart from columns."""
        return ", ".join({"r": "right", "c": "center"}.get(column, "left") for column in align)


_ZERO_WIDTH_SPACE = "\u200b"


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


FORMAT = Typst()
