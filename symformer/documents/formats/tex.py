"""LaTeX."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...language.notation.display_tree import Tree
from ...language.notation.latex import latex
from ...output.blocks import Computation, FigureBlock
from .base_language import OPTION, Language, break_name, tied, with_break_points
from .missing_glyphs import label, plain_id, replace_missing_letters, with_macro
from .page_layout import Page


class Latex(Language):
    """LaTeX that compiles with Debian's texlive-latex-recommended alone."""

    page = Page(widest=97)  # LaTeX's typewriter letters are wider than Typst's

    template = "derivation.tex.jinja"
    quad = r"\quad"
    row_break = r" \\"
    of_texts = (*Language.of_texts, "label", "anchor")
    of_blocks = {**Language.of_blocks, "picture": ("picture",)}

    _SPECIAL = {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': "''",
        "`": r"\`{}",
        **{character: "\\" + character for character in "{}$&#_%"},
    }

    _STRAIGHT = {'"': r"\symbol{34}"}  # in a name from the code

    def completed(self, spelt: str) -> str:
        """Return the document with the macro for non-Latin letters if it is used."""
        return with_macro(spelt)

    def prose(self, text: str) -> str:
        spelt = self._spelt(
            with_break_points(tied(text, "\2"), "\1"), {**self._SPECIAL, "\1": r"\allowbreak{}", "\2": "~"}
        )
        return _BLANK.sub(lambda found: rf"\underline{{\hspace{{{len(found[0]) // 4}em}}}}", spelt)

    def code(self, text: str) -> str:
        words = OPTION.split(text)
        spelt = "".join(self._mbox(each) if place % 2 else self._breakable(each) for place, each in enumerate(words))
        spelt = re.sub(r"\.(?=[A-Za-z_])", lambda _: r".\allowbreak{}", spelt)
        if "*" in text:  # the path of a row in a table with a narrow column
            spelt = spelt.replace(r"\_", r"\_\allowbreak{}")
        return rf"\texttt{{{spelt}}}"

    def _breakable(self, text: str) -> str:
        """Return code with the places at which a line may end."""
        pieces = break_name(text) if text else []
        return r"\allowbreak{}".join(self._spelt(piece, {**self._SPECIAL, **self._STRAIGHT}) for piece in pieces)

    def _mbox(self, text: str) -> str:
        return rf"\mbox{{{self._spelt(text, {**self._SPECIAL, **self._STRAIGHT})}}}"

    @staticmethod
    def _spelt(text: str, signs: Mapping[str, str]) -> str:
        # two signs in a row would become a ligature: a dash, a quotation mark
        parted = re.sub(r"([-'])(?=\1)", r"\1\0", text)
        return replace_missing_letters(
            "".join(signs.get(character, character) for character in parted).replace("\0", "{}")
        )

    def strong(self, spelt: str) -> str:
        return rf"\textbf{{{spelt}}}"

    def math(self, shown: Tree) -> str:
        return replace_missing_letters(latex(shown))

    def inline(self, mathematics: str, shown: Tree) -> str:
        return f"${mathematics}$"

    def picture(self, block: FigureBlock) -> str:
        """Return a figure that fits the page, drawn by LaTeX itself."""
        from .tex_pictures import filling, picture  # not needed by documents without figures

        if block.overviews is not None:
            return filling(block.overviews(self.page), self.line(block.caption), self)
        drawing = block.draw(self.page)
        return picture(drawing, self, self.page.enlarged(drawing.width, drawing.height))

    def computation(self, block: Computation, row_break: str = "") -> str:
        """Return the rows of a computation; amsmath warns of a bracket at the start, which could be an option."""
        return without_bracket(super().computation(block, row_break))

    def carry_on(self, sign: str, spelt: str) -> str:
        return rf"&\quad {{}} {sign} {spelt}"

    def ranging(self, last: str) -> str:
        return rf",\; n = 1, \dots, {last}"

    def because(self, spelt: str, below: bool = False) -> str:
        return rf"&\quad \text{{{spelt}}}" if below else rf"&& \text{{{spelt}}}"

    def cited(self, key: str, number: int) -> str:
        return rf"[\ref{{ref:{key}}}]"

    def ref(self, id: str, number: int) -> str:
        return rf"\eqref{{{label(id)}}}"

    def figure_ref(self, id: str, number: int) -> str:
        return rf"Figure~\ref{{fig:{self.anchor(id)}}}"

    def table_ref(self, id: str, number: int) -> str:
        return rf"\hyperref[tab:{self.anchor(id)}]{{Table~{number}}}"

    def equation_number(self, id: str, number: int) -> str:
        return rf"\refstepcounter{{equation}}\label{{{label(id)}}}(\theequation)"

    def label(self, id: str) -> str:
        """Return the label of an equation."""
        return label(id)

    def anchor(self, id: str) -> str:
        """Return the anchor of a section."""
        return plain_id(id)

    def columns(self, align: str) -> str:
        share = 0.7 if len(align) == 2 else 0.4 if len(align) < 5 else 0.3
        if align == "wwww":
            share = 0.21
        elif align.count("w") > 1 and len(align) < 5:
            share = {2: 0.46, 3: 0.32, 4: 0.35}[len(align)]

        def spelt(place: int, kind: str) -> str:
            if kind != "w":
                return kind
            own = 0.26 if place == 0 and len(align) > 4 else share  # names break at dots and underscores
            return rf">{{\raggedright\arraybackslash}}p{{{own}\linewidth}}"

        return "".join(spelt(place, kind) for place, kind in enumerate(align))


_BLANK = re.compile(r"(?:\\_){4,}")  # an empty cell of a worksheet: underscores would leave gaps


def without_bracket(rows: str) -> str:
    """Return the rows of an environment, in which no bracket is the first character."""
    return f"{{}}{rows}" if rows.startswith("[") else rows


FORMAT = Latex()
