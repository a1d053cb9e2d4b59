"""LaTeX."""

from __future__ import annotations

import re

from ...language.notation.latex import latex
from ...language.notation.tree import Tree
from ..blocks import Picture
from .language import Language, broken


class Latex(Language):
    """LaTeX that compiles with Debian's texlive-latex-recommended alone."""

    template = "derivation.tex.jinja"
    quad = r"\quad"
    row_break = r" \\"
    of_blocks = {**Language.of_blocks, "picture": ("picture",)}

    _SPECIAL = {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "–": "--",
        "≈": r"$\approx$",
        "≠": r"$\neq$",
        "×": r"$\times$",
        "·": r"$\cdot$",
        "…": r"\ldots{}",
        "≥": r"$\geq$",
        "σ": r"$\sigma$",
        "<": "$<$",
        ">": "$>$",
        "|": "$|$",
        '"': "''",
        **{character: "\\" + character for character in "{}$&#_%"},
    }

    def prose(self, text: str) -> str:
        return "".join(self._SPECIAL.get(character, character) for character in text)

    def code(self, text: str) -> str:
        spelt = r"\allowbreak{}".join(map(self.prose, broken(text)))
        spelt = re.sub(r"\.(?=[A-Za-z_])", lambda _: r".\allowbreak{}", spelt)
        return rf"\texttt{{{spelt}}}"

    def strong(self, spelt: str) -> str:
        return rf"\textbf{{{spelt}}}"

    def math(self, shown: Tree) -> str:
        return latex(shown)

    def inline(self, mathematics: str, shown: Tree) -> str:
        return f"${mathematics}$"

    def picture(self, block: Picture) -> str:
        """A figure that fits the page, drawn by LaTeX itself."""
        from .drawn import picture  # which a document without figures does without

        drawing = block.draw(*self.page.figure)
        return picture(drawing, self, self.page.enlarged(drawing.width, drawing.height))

    def carry_on(self, sign: str, spelt: str) -> str:
        return rf"&\quad {{}} {sign} {spelt}"

    def ranging(self, last: str) -> str:
        return rf",\; n = 1, \dots, {last}"

    def because(self, spelt: str, below: bool = False) -> str:
        return rf"&\quad \text{{{spelt}}}" if below else rf"&& \text{{{spelt}}}"

    def cited(self, key: str, number: int) -> str:
        return rf"[\ref{{ref:{key}}}]"

    def ref(self, id: str, number: int) -> str:
        return rf"\eqref{{eq:{id}}}"

    def columns(self, align: str) -> str:
        share = 0.4 if len(align) < 5 else 0.3
        return align.replace("w", rf">{{\raggedright\arraybackslash}}p{{{share}\linewidth}}")


FORMAT = Latex()
