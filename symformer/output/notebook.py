"""Rich display in notebooks: blocks as HTML, Markdown and LaTeX.

Mathematics in HTML and Markdown is in dollar signs, as Jupyter and Quarto expect.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

from ..language.aliases import Alias
from ..language.notation.latex import latex
from .blocks import BriefBlock, Code, Equation, Heading, Line, Math, Paragraph, Piece, Strong, Table, plain


def html(blocks: Sequence[BriefBlock]) -> str:
    """Return blocks in plain HTML."""
    return "".join(map(_html_block, blocks))


def markdown(blocks: Sequence[BriefBlock]) -> str:
    """Return blocks in Markdown."""
    return "\n\n".join(map(_markdown_block, blocks))


def mathematics(blocks: Sequence[BriefBlock]) -> str:
    """Return only the equations and the tables, for MathJax and LaTeX, with each table as an array."""
    parts = []
    for block in blocks:
        if isinstance(block, Equation):
            parts.append(_aligned(block))
        elif isinstance(block, Table):
            rows = [" & ".join(map(_latex, row)) for row in (block.head, *block.rows)]
            rule = r" \\ \hline" + "\n"
            parts.append(
                f"\\begin{{array}}{{{_sides(block)}}}\n{rows[0]}{rule}" + " \\\\\n".join(rows[1:]) + "\n\\end{array}"
            )
    return "\n".join(f"$$\n{each}\n$$" for each in parts)


class Shown:
    """Base class of objects with a rich display in notebooks; without blocks, they have only a plain text form."""

    def to_blocks(self) -> Sequence[BriefBlock]:
        """Return the content of the display, which the terminal prints as well."""
        raise NotImplementedError

    card = Alias("to_blocks")  # its former name

    def _repr_html_(self) -> str | None:
        return html(self.to_blocks()) or None

    def _repr_markdown_(self) -> str | None:
        return markdown(self.to_blocks()) or None

    def _repr_latex_(self) -> str | None:
        return mathematics(self.to_blocks()) or None

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


def _sides(table: Table) -> str:
    """Return the alignment of each column as l, r or c."""
    return table.align.replace("w", "l")


def _aligned(block: Equation) -> str:
    sides = list(map(latex, block.chain.steps))
    for place, reason in enumerate(block.reasons):
        sides[place] += rf" \quad {_latex(reason)}" if reason else ""
    before = " = ".join(map(latex, block.chain.labels))
    if len(sides) == 1:
        return " = ".join(filter(None, (before, sides[0])))
    lines = " \\\\\n".join(f"&= {side}" for side in sides)
    return f"\\begin{{aligned}}\n{before} {lines}\n\\end{{aligned}}"


def _html_block(block: BriefBlock) -> str:
    match block:
        case Heading(line=line):
            return f"<p><strong>{_html(line)}</strong></p>"
        case Paragraph(line=line):
            return f"<p>{_html(line)}</p>"
        case Equation():
            return f"<p>$${escape(_aligned(block))}$$</p>"
        case Table():
            rows = [_html_row("th", block.head, _sides(block))]
            rows += [_html_row("td", row, _sides(block)) for row in block.rows]
            if block.total:
                rows[-1] = rows[-1].replace("<td", "<th").replace("</td", "</th")
            caption = f"<p>{_html(block.caption)}</p>" if block.caption else ""
            return f"{caption}<table><thead>{rows[0]}</thead><tbody>{''.join(rows[1:])}</tbody></table>"


def escape(text: str) -> str:
    """Return text escaped for HTML."""
    for each, spelt in {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}.items():
        text = text.replace(each, spelt)
    return text


def _html_row(tag: str, row: Sequence[Line], align: str) -> str:
    sides = {"r": "right", "c": "center"}
    cells = zip(row, align, strict=True)
    return (
        "<tr>"
        + "".join(f'<{tag} style="text-align: {sides.get(side, "left")}">{_html(cell)}</{tag}>' for cell, side in cells)
        + "</tr>"
    )


def _html(line: Line) -> str:
    return "".join(map(_html_piece, line))


def _html_piece(piece: Piece) -> str:
    match piece:
        case Math(shown):
            return f"${escape(latex(shown))}$"
        case Code(text):
            return f"<code>{escape(text)}</code>"
        case Strong(text):
            return f"<strong>{escape(text)}</strong>"
    return escape(plain([piece])).replace("$", "<span>$</span>")


def _markdown_block(block: BriefBlock) -> str:
    match block:
        case Heading(line=line):
            return f"**{_markdown(line)}**"
        case Paragraph(line=line):
            return _markdown(line)
        case Equation():
            return f"$$\n{_aligned(block)}\n$$"
        case Table():
            rule = "|".join({"r": "---:", "c": ":---:"}.get(side, "---") for side in _sides(block))
            rows = [" | ".join(map(_markdown, row)) for row in (block.head, *block.rows)]
            table = "\n".join([f"| {rows[0]} |", f"|{rule}|", *(f"| {row} |" for row in rows[1:])])
            return f"{_markdown(block.caption)}\n\n{table}" if block.caption else table


def _prose(text: str) -> str:
    return re.sub(r"([\\`*_<>|\[\]$])", r"\\\1", re.sub(r"\s+", " ", text))


def _markdown(line: Line) -> str:
    return "".join(map(_markdown_piece, line))


def _markdown_piece(piece: Piece) -> str:
    match piece:
        case Math(shown):
            return f"${latex(shown)}$"
        case Code(text):
            fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
            space = " " * bool(text.strip("`") != text)
            return f"{fence}{space}{' '.join(text.split())}{space}{fence}".replace("|", "\\|")
        case Strong(text):
            return f"**{_prose(text)}**"
    return _prose(plain([piece]))


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


def _latex(line: Line) -> str:
    return "".join(map(_latex_piece, line))


def _latex_piece(piece: Piece) -> str:
    if isinstance(piece, Math):
        return latex(piece.shown)
    font = "mathtt" if isinstance(piece, Code) else "mathbf" if isinstance(piece, Strong) else "mathrm"
    return rf"\{font}{{{''.join(_SPECIAL.get(each, each) for each in plain([piece]))}}}"
