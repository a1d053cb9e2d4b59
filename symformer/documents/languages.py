"""The languages a document is printed in: how each spells prose, names and mathematics. A template does the rest."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod

from ..language.notation.latex import latex
from ..language.notation.tree import Tree
from ..language.notation.typst import typst
from .blocks import Code, Equation, Line, Math, Piece, Strong


class Language(ABC):
    """One language. Every piece of prose and every name goes through ``prose`` and ``code``, which escape it."""

    template: str
    row_break: str  # between the rows of an aligned equation

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
        raise TypeError(f"not a piece of a line: {piece!r}")

    def equation(self, equation: Equation) -> str:
        """The rows of an aligned equation; each sign stands at the alignment point."""
        *alone, beside = [" = ".join(self.math(label) for label in line) for line in equation.labels]
        rows = [
            f"&= {self.math(shown)}" if sign == "=" else self.carry_on(sign, self.math(shown))
            for sign, shown in equation.rows
        ]
        over = [f"& {'= ' if index else ''}{labels}" for index, labels in enumerate(alone)]
        # where labels go on from the line above, the alignment point stands before them
        first = f"& = {beside} {rows[0][1:]}" if over and beside else f"{beside} {rows[0]}".lstrip()
        return f"{self.row_break}\n".join([*over, first, *rows[1:]])

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
    def columns(self, align: str) -> str:
        """The columns of a table: l, r, c, and w for one that wraps."""


class Markdown(Language):
    """Markdown as GitHub reads it."""

    template = "derivation.md.jinja"
    row_break = r" \\"

    def prose(self, text: str) -> str:
        return re.sub(r"([\\`*_<>|\[\]$])", r"\\\1", text)

    def code(self, text: str) -> str:
        # A run of backticks inside asks for a longer one outside; a bar would end a table's cell.
        fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
        return f"{fence}{text}{fence}".replace("|", r"\|")

    def strong(self, spelt: str) -> str:
        return f"**{spelt}**"

    def math(self, shown: Tree) -> str:
        return latex(shown)

    def inline(self, mathematics: str) -> str:
        return f"$`{mathematics}`$"

    def carry_on(self, sign: str, spelt: str) -> str:
        return rf"&\quad {sign} {spelt}"

    def columns(self, align: str) -> str:
        return "|".join({"r": "---:", "c": ":---:"}.get(column, "---") for column in align)


class Latex(Language):
    """LaTeX that compiles with Debian's texlive-latex-recommended alone."""

    template = "derivation.tex.jinja"
    row_break = r" \\"

    _SPECIAL = {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "–": "--",
        "≈": r"$\approx$",
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
        return rf"\texttt{{{self.prose(text).replace('.', '.' + chr(92) + 'allowbreak{}')}}}"

    def strong(self, spelt: str) -> str:
        return rf"\textbf{{{spelt}}}"

    def math(self, shown: Tree) -> str:
        return latex(shown)

    def inline(self, mathematics: str) -> str:
        return f"${mathematics}$"

    def carry_on(self, sign: str, spelt: str) -> str:
        return rf"&\quad {{}} {sign} {spelt}"

    def columns(self, align: str) -> str:
        share = 0.4 if len(align) < 5 else 0.3
        return align.replace("w", rf">{{\raggedright\arraybackslash}}p{{{share}\linewidth}}")


class Typst(Language):
    """Typst, which the PDFs are made from."""

    template = "derivation.typ.jinja"
    row_break = " \\"

    def prose(self, text: str) -> str:
        return f"#{_string(text)};"

    def code(self, text: str) -> str:
        return f"#raw({_string(text)});"

    def strong(self, spelt: str) -> str:
        return f"#strong[{spelt}]"

    def math(self, shown: Tree) -> str:
        return typst(shown)

    def inline(self, mathematics: str) -> str:
        return f"${mathematics}$"

    def carry_on(self, sign: str, spelt: str) -> str:
        return f"& quad {sign} {spelt}"

    def columns(self, align: str) -> str:
        return ", ".join("1fr" if column == "w" else "auto" for column in align)

    def alignment(self, align: str) -> str:
        """Typst names alignments apart from columns."""
        return ", ".join({"r": "right", "c": "center"}.get(column, "left") for column in align)


def printable(text: str) -> str:
    """Text without control characters, which no language prints."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


LANGUAGES: dict[str, Language] = {"md": Markdown(), "tex": Latex(), "typ": Typst()}
