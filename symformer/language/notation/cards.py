"""Rich display in notebooks: a title, equations and a table as HTML, Markdown and LaTeX from one description.

Mathematics in HTML and Markdown is in dollar signs, as Jupyter and Quarto expect.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from .display_tree import Tree
from .latex import latex


@dataclass(frozen=True)
class CodeName:
    """A name from code."""

    text: str


Cell = str | CodeName | Tree


@dataclass(frozen=True)
class CardTable:
    """A table. The alignment has one letter per column, l or r; ``total`` separates the last row."""

    head: Sequence[Cell]
    rows: Sequence[Sequence[Cell]]
    align: str
    total: bool = False


@dataclass(frozen=True)
class Card:
    """The rich display of one object. An equation has labels and the steps after them, joined by equals signs."""

    title: str = ""
    equations: Sequence[tuple[Sequence[Tree], Sequence[Tree]]] = ()
    table: CardTable | None = None
    notes: Sequence[str] = ()  # sentences between the equations and the table

    def html(self) -> str:
        """Return the title, equations and table in plain HTML."""
        parts = [f"<p>{_html(self.title)}</p>"] if self.title else []
        parts += [f"<p>$${escape(each)}$$</p>" for each in self._aligned()]
        parts += [f"<p>{_html(each)}</p>" for each in self.notes]
        if self.table is not None:
            rows = [_html_row("th", self.table.head, self.table.align)]
            rows += [_html_row("td", row, self.table.align) for row in self.table.rows]
            if self.table.total:
                rows[-1] = rows[-1].replace("<td", "<th").replace("</td", "</th")
            parts.append(f"<table><thead>{rows[0]}</thead><tbody>{''.join(rows[1:])}</tbody></table>")
        return "".join(parts)

    def markdown(self) -> str:
        """Return the title, equations and table in Markdown."""
        parts = [_prose(self.title)] if self.title else []
        parts += [f"$$\n{each}\n$$" for each in self._aligned()]
        parts += list(map(_prose, self.notes))
        if self.table is not None:
            rule = "|".join("---:" if side == "r" else "---" for side in self.table.align)
            rows = [" | ".join(map(_markdown, row)) for row in (self.table.head, *self.table.rows)]
            parts.append("\n".join([f"| {rows[0]} |", f"|{rule}|", *(f"| {row} |" for row in rows[1:])]))
        return "\n\n".join(parts)

    def latex(self) -> str:
        """Return only the mathematics, for MathJax and LaTeX, with the table as an array."""
        parts = self._aligned()
        if self.table is not None:
            rows = [" & ".join(map(_latex, row)) for row in (self.table.head, *self.table.rows)]
            rule = r" \\ \hline" + "\n"
            parts.append(
                f"\\begin{{array}}{{{self.table.align}}}\n{rows[0]}{rule}" + " \\\\\n".join(rows[1:]) + "\n\\end{array}"
            )
        return "\n".join(f"$$\n{each}\n$$" for each in parts)

    def _aligned(self) -> list[str]:
        found = []
        for labels, steps in self.equations:
            sides = list(map(latex, steps))
            before = " = ".join(map(latex, labels))
            if len(sides) == 1:
                found.append(" = ".join(filter(None, (before, sides[0]))))
            else:
                lines = " \\\\\n".join(f"&= {side}" for side in sides)
                found.append(f"\\begin{{aligned}}\n{before} {lines}\n\\end{{aligned}}")
        return found


class Shown:
    """Base class of objects with a rich display in notebooks; ``card`` may be None for plain text only."""

    @property
    def card(self) -> Card | None:
        """The content of the rich display."""
        raise NotImplementedError

    def _repr_html_(self) -> str | None:
        return self.card.html() if self.card else None

    def _repr_markdown_(self) -> str | None:
        return self.card.markdown() if self.card else None

    def _repr_latex_(self) -> str | None:
        return self.card.latex() if self.card else None

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> dict[str, str]:
        """Return the requested representations by MIME type."""
        forms: dict[str, Callable[[], str | None]] = {
            "text/plain": self.__repr__,
            "text/html": self._repr_html_,
            "text/markdown": self._repr_markdown_,
            "text/latex": self._repr_latex_,
        }
        asked = [name for name in forms if (not include or name in include) and name not in (exclude or ())]
        return {name: shown for name in asked if (shown := forms[name]()) is not None}


def escape(text: str) -> str:
    """Return text escaped for HTML."""
    for each, spelt in {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}.items():
        text = text.replace(each, spelt)
    return text


def _html_row(tag: str, row: Sequence[Cell], align: str) -> str:
    sides = {"r": "right"}
    cells = zip(row, align, strict=True)
    return (
        "<tr>"
        + "".join(f'<{tag} style="text-align: {sides.get(side, "left")}">{_html(cell)}</{tag}>' for cell, side in cells)
        + "</tr>"
    )


def _html(cell: Cell) -> str:
    match cell:
        case str():
            return escape(cell).replace("$", "<span>$</span>")
        case CodeName(text):
            return f"<code>{escape(text)}</code>"
    return f"${escape(latex(cell))}$"


def _prose(text: str) -> str:
    return re.sub(r"([\\`*_<>|\[\]$])", r"\\\1", " ".join(text.split()))


def _markdown(cell: Cell) -> str:
    match cell:
        case str():
            return _prose(cell)
        case CodeName(text):
            fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
            space = " " * bool(text.strip("`") != text)
            return f"{fence}{space}{' '.join(text.split())}{space}{fence}".replace("|", "\\|")
    return f"${latex(cell)}$"


_SPECIAL = {
    "\\": r"\backslash ",
    "~": r"\sim ",
    "^": r"\wedge ",
    " ": r"\ ",
    "*": "{*}",
    "-": "{-}",
    "<": r"\lt ",
    ">": r"\gt ",
    **{each: f"\\{each}" for each in "{}$&#_%"},
}


def _latex(cell: Cell) -> str:
    if isinstance(cell, Tree):
        return latex(cell)
    words, font = (cell.text, "mathtt") if isinstance(cell, CodeName) else (cell, "mathrm")
    return rf"\{font}{{{''.join(_SPECIAL.get(each, each) for each in words)}}}"
