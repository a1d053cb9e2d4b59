r"""A table as a LaTeX float for a paper: booktabs, in a column or across the page, and never scaled.

Widths are in em of the type in use. They are estimates from above for the usual text fonts (Times, Computer Modern,
Libertine), and the width is the narrowest of the pages of the ACM, IEEE, NeurIPS and ACL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...output.blocks import Cited, Code, EquationNumber, Line, Math, Piece, Ref, Strong, Table, plain
from .base_language import printable
from .column import runs
from .page_layout import breadth
from .tex import Latex

GAP = 0.9  # between two columns: twice \tabcolsep
NAME = 22.0  # the widest column of names
MOST_ROWS = 36  # of a panel
TALL = 46  # lines of a float, fewer than a page has
HEAD = 3  # lines that the space around a panel and its caption take
MARK = r"\providecommand{\symformer}[3][]{#3}"
NOTE = r"\footnotesize"


@dataclass(frozen=True)
class Place:
    """Where a table fits: the environment and the type, with its room in em."""

    environment: str
    type: str
    room: float


# ACL: a column of 219 pt, with a \small of 10 pt and a \footnotesize of 9 pt. NeurIPS: a page of 397 pt, with 9 pt for
# both and a \scriptsize of 7 pt.
PLACES = (
    Place("table", r"\small", 21.9),
    Place("table", r"\footnotesize", 24.3),
    Place("table*", r"\small", 44.0),
    Place("table*", r"\fontsize{8}{9.5}\selectfont", 49.5),
    Place("table*", r"\scriptsize", 56.5),
)
_NARROW, _WIDE = ".,:;'!|iljtfr()[]-", "mwMW—@%"


@dataclass
class _Float:
    """The parts of one float, and their height in lines."""

    panels: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    lines: int = 0


class TableFloat(Latex):
    """A float with a table, its caption and its notes."""

    def floats(self, table: Table, notes: Sequence[Line], marks: Mapping[tuple[int, int], str], name: str) -> str:
        """Return the table as one float, or as several if it is too tall for a page; the notes are the last part."""
        place, panels = arranged(table)
        pieces = [
            (self._panel(table, panel, range(start, min(start + MOST_ROWS, len(table.rows))), marks), HEAD)
            for start in range(0, max(len(table.rows), 1), MOST_ROWS)
            for panel in panels
        ]
        parts = [("\n".join(lines), len(lines) + above) for lines, above in pieces]
        room = place.room if place.environment == "table" else PLACES[2].room
        said = [(self.line(note), max(1, round(line_width(note) / room + 0.5))) for note in notes]
        made: list[_Float] = [_Float()]
        for part, lines in parts:
            if made[-1].panels and made[-1].lines + lines > TALL:
                made.append(_Float())
            made[-1].panels.append(part)
            made[-1].lines += lines
        for note, lines in said:
            if made[-1].lines + lines > TALL:
                made.append(_Float())
            made[-1].notes.append(note)
            made[-1].lines += lines
        return "\n\n".join(self._float(each, number, place, table.caption, name) for number, each in enumerate(made))

    def _float(self, made: _Float, number: int, place: Place, caption: Line, name: str) -> str:
        said = [*caption, " (continued)"] if number else caption
        mark = f"{name}-{number + 1}" if number else name
        lines = [rf"\begin{{{place.environment}}}[t]", r"\centering", rf"\caption{{{self.line(said)}}}"]
        lines += [rf"\label{{tab:{mark}}}"]
        if made.panels:
            lines += [rf"{place.type}\setlength{{\tabcolsep}}{{{GAP / 2:g}em}}%"]
            lines += ["\n\\par\\medskip\n".join(made.panels)]
        if made.notes:
            notes = "\n".join(made.notes)
            lines.append(f"\\par\\smallskip\n{{{NOTE}\\raggedright\n{notes}\\par}}")
        return "\n".join([*lines, rf"\end{{{place.environment}}}"])

    def _panel(
        self, table: Table, columns: Sequence[int], rows: Sequence[int], marks: Mapping[tuple[int, int], str]
    ) -> list[str]:
        align = "".join(table.align[place] for place in columns).replace("w", "l")
        wraps = _body(table, 0) > NAME  # names of models, such as long paths, that take too much of the page
        align = rf"p{{{NAME:g}em}}{align[1:]}" if wraps else align
        ends = r" \tabularnewline" if wraps else r" \\"
        head = [self._head(table.head[place], table.align[place], _body(table, place)) for place in columns]
        body = [
            " & ".join(
                self._wrapped(table.rows[row][place])
                if wraps and place == 0
                else self._cell(table.rows[row][place], marks.get((row, place), ""))
                for place in columns
            )
            + ends
            for row in rows
        ]
        return [
            rf"\begin{{tabular}}{{@{{}}{align}@{{}}}}",
            r"\toprule",
            " & ".join(head) + ends,
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
        ]

    def _cell(self, cell: Line, mark: str = "") -> str:
        """Return a cell, in which a name is not broken; a marked value is checked by `symformer audit`."""
        signs = {**self._SPECIAL, **self._STRAIGHT}
        spelt = "".join(
            rf"\texttt{{{self._spelt(printable(piece.text), signs)}}}" if isinstance(piece, Code) else self.piece(piece)
            for piece in cell
        )
        if not mark:
            return spelt
        number, space, unit = spelt.partition(" ")
        if "," in number:  # an exact value, and the unit does not belong to it
            return f"{mark}{{{number.replace(',', '{,}')}}}{space}{unit}"
        return f"{mark}{{{spelt}}}"

    def _wrapped(self, cell: Line) -> str:
        """Return a name that may be broken into lines."""
        signs = {**self._SPECIAL, **self._STRAIGHT}
        words = [run for piece in cell if isinstance(piece, Code) for run in runs(printable(piece.text))]
        broken = r"\allowbreak{}".join(self._spelt(word, signs) for word in words)
        return rf"\raggedright\texttt{{{broken}}}"

    def _head(self, cell: Line, align: str, room: float) -> str:
        """Return the head of a column, broken into lines as narrow as its cells if possible."""
        lines = head_lines(cell, room)
        if len(lines) == 1:
            return self.line(cell)
        side = align.replace("w", "l")
        return rf"\begin{{tabular}}[b]{{@{{}}{side}@{{}}}}" + r"\\".join(map(self.line, lines)) + r"\end{tabular}"


def arranged(table: Table) -> tuple[Place, list[list[int]]]:
    """Return the largest type in which a table fits, and its columns in panels: one, unless no type is small enough."""
    widths = column_widths(table)
    for place in PLACES:
        if _total(widths) <= place.room:
            return place, [list(range(len(widths)))]
    place = PLACES[2]
    panels = [[0]]
    for column in range(1, len(widths)):
        if len(panels[-1]) > 1 and _total([widths[each] for each in (*panels[-1], column)]) > place.room:
            panels.append([0])
        panels[-1].append(column)
    return place, panels


def column_widths(table: Table) -> list[float]:
    """Return the width of each column, with its head broken into lines."""
    found = []
    for place, head in enumerate(table.head):
        body = min(_body(table, place), NAME) if place == 0 else _body(table, place)
        found.append(max([body, *(line_width(line) for line in head_lines(head, body))]))
    return found


def _total(widths: Sequence[float]) -> float:
    return sum(widths) + GAP * (len(widths) - 1)


def _body(table: Table, column: int) -> float:
    return max((line_width(row[column]) for row in table.rows), default=0.0)


def head_lines(cell: Line, room: float) -> list[Line]:
    """Return the words of a head in as few lines as fit the room, or in the room of the longest word."""
    if len(cell) != 1 or not isinstance(cell[0], str) or line_width(cell) <= room:
        return [cell]
    words = cell[0].split()
    room = max(room, *(line_width([word]) for word in words))
    lines = [words[0]]
    for word in words[1:]:
        longer = f"{lines[-1]} {word}"
        if line_width([longer]) <= room:
            lines[-1] = longer
        else:
            lines.append(word)
    return [[line] for line in lines]


def line_width(line: Line) -> float:
    """Return an upper estimate of the width of a line in em."""
    return sum(map(_width, line))


def _width(piece: Piece) -> float:
    match piece:
        case str() | Strong():
            return sum(map(_character, piece if isinstance(piece, str) else piece.text))
        case Code(text):
            return 0.54 * len(text)
        case Math(shown):
            return 0.75 * breadth(shown)
        case Cited() | Ref() | EquationNumber():
            return 2.0
    raise TypeError(f"not a piece of a line: {piece!r}")


def _character(each: str) -> float:
    if each in _WIDE:
        return 1.0 if each == "—" else 0.9
    if each in _NARROW:
        return 0.39
    return 0.78 if each.isupper() else 0.34 if each == " " else 0.56 if each.isalpha() else 0.52


def float_of(
    table: Table,
    notes: Sequence[Line],
    comments: Sequence[Line] = (),
    marks: Mapping[tuple[int, int], str] | None = None,
    name: str = "models",
) -> str:
    """Return a table as LaTeX to include in a paper.

    Parameters
    ----------
    table, notes
        The table, and the notes below it.
    comments
        Notes that are comments above it.
    marks
        The marks of values that `symformer audit` checks, by row and column.
    name
        The label is ``tab:`` and this name.

    """
    spelt = TableFloat()
    about = [f"For \\input into a paper with \\usepackage{{booktabs}}. The label is tab:{name}.", *map(plain, comments)]
    if marks:
        about.insert(1, "`symformer audit PAPER.tex` checks each \\symformer[OPTION=VALUE,SIZE=VALUE]{ID}{NUMBER}.")
    lines = [*(f"% {printable(line)}" for line in about), *([MARK] if marks else [])]
    return spelt.completed("\n".join([*lines, spelt.floats(table, notes, marks or {}, name)]) + "\n")
