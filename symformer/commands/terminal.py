"""Terminal output: every line that a command prints passes through this module.

Lines are folded to the width of the terminal, and left unchanged if the output is piped. Characters that the output
cannot encode are written as plain arithmetic and ASCII. Control characters, which a file name may contain, are escaped.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Protocol, TextIO
from unicodedata import combining, east_asian_width

from ..language.errors import OutputError

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID
    from sympy import Expr

    from ..language.notation.display_tree import Tree
    from ..output.blocks import BriefBlock, Equation, Line, Table

_GAP = "  "
# The characters of formulas and trees, and their replacements if they cannot be encoded.
_SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789", strict=True))
_PLAIN = {"·": "*", "×": "x", "≈": "~", "≤": "<=", "≥": ">=", "├": "|", "└": "`", "│": "|", "─": "-", "…": "..."}
_MARKS = "".join([*_SUPERSCRIPTS, *_PLAIN])
# Control characters, directional marks, line separators and surrogates.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_SCRIPT = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹]+")


def print_line(text: str = "") -> None:
    """Print one line on standard output, folded to the terminal. Raises OutputError if it cannot be written."""
    shown = _spelt(visible(text), sys.stdout)
    lines = fold(shown, width(), under="    ") if width() else [shown]
    print_lines("\n".join(lines) + "\n")


def print_lines(text: str) -> None:
    """Print lines on standard output without folding them. Raises OutputError if they cannot be written."""
    if sys.stdout is None:
        raise OutputError("standard output is closed; open it, or write to a file")
    try:
        sys.stdout.write(_spelt(text, sys.stdout))
    except BrokenPipeError:
        raise
    except OSError as error:
        raise unwritable(error) from None


def print_bytes(content: bytes) -> None:
    """Write a file to standard output. Raises OutputError if that fails, or if a binary file would go to a terminal."""
    if sys.stdout is None:
        raise OutputError("standard output is closed; open it, or write to a file")
    if sys.stdout.isatty() and b"\x00" in content:
        raise OutputError(
            "standard output is a terminal and the output is binary; redirect it to a file or a program, as in > FILE"
        )
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise unwritable(error) from None


def print_json(document: object) -> None:
    """Print one JSON document on standard output, with JSON escapes for characters that it cannot encode."""
    text = json.dumps(document, indent=2, ensure_ascii=False)
    text = _CONTROL.sub(lambda found: found[0] if found[0] == "\n" else f"\\u{ord(found[0]):04x}", text)
    try:
        text.encode(_encoding(sys.stdout))
    except UnicodeEncodeError:
        text = json.dumps(document, indent=2)
    print_lines(text + "\n")


def print_error(text: str) -> None:
    """Print one line on standard error, or nothing if standard error is closed or fails."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(_spelt(visible(text), sys.stderr) + "\n")
        sys.stderr.flush()
    except OSError:
        discard(sys.stderr)


def unwritable(error: OSError) -> OutputError:
    """Return the error for a failed write to standard output."""
    return OutputError(f"standard output cannot be written: {error.strerror}")


def discard(stream: TextIO | None) -> None:
    """Redirect a stream to the null device, so that flushing it at exit does not fail."""
    try:
        if stream is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except (OSError, ValueError):
        pass


def visible(text: str) -> str:
    """Return a text with its control characters escaped; a file name may contain any.

    >>> print(visible("a\\x1b[31m\\nb"))
    a\\x1b[31m\\nb
    """
    return _CONTROL.sub(lambda found: repr(found[0])[1:-1], text)


def spell(shown: Tree | Expr) -> str:
    """Return a formula as ``12LE²``, or as ``12*L*E**2`` if the output cannot encode that."""
    from ..language.notation.text import code, text

    written = text(shown)
    is_number = written.isascii() and not any(map(str.isalpha, written))  # 124,439,808 stays readable
    return written if is_number or _spells_marks() else code(shown)


class Result(Protocol):
    """A result that a command prints."""

    def to_blocks(self) -> Iterable[BriefBlock]: ...

    def to_json(self) -> object: ...


def print_result(found: Result, as_json: bool) -> None:
    """Print the blocks of a result, or its data."""
    if as_json:
        print_json(found.to_json())
    else:
        print_blocks(found.to_blocks())


def print_blocks(blocks: Iterable[BriefBlock]) -> None:
    """Print blocks: each line folded, an empty line around each table and before each further heading."""
    from ..output.blocks import Equation, Heading, Paragraph, Table

    above: BriefBlock | None = None
    for block in blocks:
        apart = isinstance(block, Heading) or Table in (type(block), type(above))
        if above is not None and apart and not (isinstance(above, Heading) and isinstance(block, Table)):
            print_line()
        match block:
            case Heading(line=line) | Paragraph(line=line):
                print_line(spell_line(line))
            case Equation():
                print_line(_equation(block))
            case Table():
                if block.caption:
                    print_line(spell_line(block.caption))
                _print_table(block)
        above = block


def spell_line(line: Line) -> str:
    """Return a line as text, with its mathematics in characters that the output can encode."""
    from ..output.blocks import plain

    return plain(line, spell)


def _equation(block: Equation) -> str:
    """Return an equation on one line, with the reason for a step in brackets after it."""
    steps = [spell(each) for each in block.chain.steps]
    for place, reason in enumerate(block.reasons):
        steps[place] += f" ({spell_line(reason)})" if reason else ""
    return " = ".join([*map(spell, block.chain.labels), *steps])


def _print_table(block: Table) -> None:
    """Print a table, with the branches of a tree before the lines of its first cells."""
    align = block.align.replace("w", "l").replace("c", "l")
    shown = [[_spelt(visible(spell_line(cell)), sys.stdout) for cell in row] for row in (block.head, *block.rows)]
    branches = [("", ""), *(block.branches or [("", "")] * len(block.rows))]
    before = [(_spelt(lead, sys.stdout), _spelt(under, sys.stdout)) for lead, under in branches]
    if room := width():
        drawn = layout(shown, align, room, before)
        if row_width(drawn) > room:
            print_lines("\n".join(stacked_table(shown, room)) + "\n")
        else:
            _draw(drawn, align, block.total)
        return
    for (lead, _), row in zip(before, shown, strict=True):
        row[0] = lead + row[0]
    for line in plain_table(shown, align):
        print_lines(line + "\n")


def plain_table(rows: Sequence[Sequence[str]], align: str) -> list[str]:
    """Return the lines of a table without colour, with two spaces between columns."""
    widths = [max(cells(row[column]) for row in rows) for column in range(len(align))]
    return [_line(row, widths, align).rstrip() for row in rows]


def layout(
    rows: Sequence[Sequence[str]], align: str, room: int, guides: Sequence[tuple[str, str]]
) -> list[list[list[str]]]:
    """Return the rows of a table, each as lines of cells that fit the width, folded between words.

    A symbol is never split. Only left-aligned columns are folded; numbers stay whole even if they do not fit.
    """
    first = [lead + row[0] for (lead, _), row in zip(guides, rows, strict=True)]
    natural = [max(map(cells, first)), *(max(cells(row[place]) for row in rows) for place in range(1, len(align)))]
    least = [max(map(_narrowest, (row[place] for row in rows))) for place in range(len(align))]
    least = [each if side == "l" else whole for each, side, whole in zip(least, align, natural, strict=True)]
    least[0] = max(
        min(cells(lead + row[0]), cells(under or lead) + 2 * bool(lead or under) + _narrowest(row[0]))
        for (lead, under), row in zip(guides, rows, strict=True)
    )
    widths = _shared(natural, least, room - len(_GAP) * (len(align) - 1))
    found = []
    for (lead, under), row in zip(guides, rows, strict=True):
        folded = [fold(lead + row[0], widths[0], lead, under + "  " if under or lead else "")]
        folded += [fold(cell, room) for cell, room in zip(row[1:], widths[1:], strict=True)]
        height = max(map(len, folded))
        found.append(
            [
                [cell[line] if line < len(cell) else under * (place == 0) for place, cell in enumerate(folded)]
                for line in range(height)
            ]
        )
    return found


def row_width(rows: list[list[list[str]]]) -> int:
    """Return the width of a line of laid-out rows, in cells."""
    columns = range(len(rows[0][0]))
    return sum(max(cells(line[place]) for row in rows for line in row) for place in columns) + len(_GAP) * columns[-1]


def stacked_table(rows: Sequence[Sequence[str]], room: int) -> list[str]:
    """Return a table as a list, for narrow terminals: the first cell of each row, then the others with their headers.

    >>> print("\\n".join(stacked_table([["row", "copies", "each"], ["lm_head", "1", "2·B·S·V·E"]], 16)))
    lm_head
      copies: 1
      each:
        2·B·S·V·E
    """
    lines: list[str] = []
    head = rows[0]
    for first, *cells_beside in rows[1:]:
        lines += fold(first, room)
        for name, cell in zip(head[1:], cells_beside, strict=True):
            lines += fold(f"  {name}: {cell}" if name else f"  {cell}", room, "  ", "    ") if cell else []
    return lines


def _shared(natural: list[int], least: list[int], room: int) -> list[int]:
    """Return a width for each column, shrinking the widest ones until all of them fit."""
    widths = list(natural)
    while sum(widths) > room:
        places = [place for place, width in enumerate(widths) if width > least[place]]
        if not places:
            break
        widest = max(places, key=lambda place: widths[place])
        widths[widest] -= 1
    return widths


def fold(text: str, room: int, lead: str = "", under: str = "") -> list[str]:
    """Return a text as lines of at most ``room`` cells, broken at spaces, else after signs, never inside a symbol.

    ``lead`` stays whole at the start of the text, and ``under`` indents every further line.

    >>> fold("12·L·E·H + 13·L·E", 12), fold("5·L_dense·E", 10)
    (['12·L·E·H', '+ 13·L·E'], ['5·L_dense·', 'E'])
    """
    if cells(text) <= room:
        return [text]
    lines, line = [], lead
    for word in _WORD.findall(text.removeprefix(lead)):
        pieces = [word] if cells(under + word.rstrip()) <= room else _PIECE.findall(word)
        for place, piece in enumerate(pieces):
            fits = cells(line + piece.rstrip()) <= room and (place > 0 or len(pieces) == 1)
            if not fits and line not in (lead, under):
                lines.append(line.rstrip())
                line = under
            line += piece
    return [*lines, line.rstrip()]


def _narrowest(text: str) -> int:
    """Return the width of the longest piece of a text that cannot be broken, in cells."""
    return max((cells(piece.rstrip()) for word in _WORD.findall(text) for piece in _PIECE.findall(word)), default=0)


_WORD = re.compile(r"\s*(?:[-+] )?\S+(?: = \S+)?\s*")  # a sign stays with its term, and a number with its name
_PIECE = re.compile(r".+?(?:\*\*\d+|(?:[·/,.=|]|(?<!\.)\*)(?![*\d])|$)\s*")  # after a sign, if a word is too long


def width() -> int:
    """Return the width of the terminal in cells, or 0 if the output is not a terminal."""
    if sys.stdout is None or not sys.stdout.isatty():
        return 0
    from shutil import get_terminal_size

    return max(get_terminal_size().columns, 20)


def cells(text: str) -> int:
    """Return the width of a text on a terminal, in cells.

    >>> cells("E²"), cells("模型")
    (2, 4)
    """
    return sum(0 if combining(each) else 2 if east_asian_width(each) in "WF" else 1 for each in text)


QUIET = 2.0  # seconds before a bar is shown


@contextmanager
def progress(what: str, total: int | None = None) -> Iterator[Callable[..., None]]:
    """Show a progress bar on standard error after two seconds, if standard error is a terminal.

    Yield a function to call with the number of finished items and, unless ``total`` is given, their total.
    """
    begun = monotonic()
    bar: Progress | None = None
    task: TaskID | None = None

    def told(done: int, of: int | None = total) -> None:
        nonlocal bar, task
        if bar is None and monotonic() - begun > QUIET and sys.stderr is not None and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

            columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
            bar = Progress(*columns, console=Console(stderr=True), transient=True)
            task = bar.add_task(what, total=of)
            bar.start()
        if bar is not None and task is not None:
            bar.update(task, completed=done, total=of)

    try:
        yield told
    finally:
        if bar is not None:
            bar.stop()


def _line(row: Sequence[str], widths: Sequence[int], align: str) -> str:
    spaced = []
    for cell, room, side in zip(row, widths, align, strict=True):
        space = " " * (room - cells(cell))
        spaced.append(space + cell if side == "r" else cell + space)
    return _GAP.join(spaced)


def _draw(rows: list[list[list[str]]], align: str, total: bool) -> None:
    """Print laid-out rows in colour: the header, a rule, the rows, and a rule before a total."""
    from rich.console import Console
    from rich.text import Text

    widths = [max(cells(line[place]) for row in rows for line in row) for place in range(len(align))]
    rule = _spelt("─", sys.stdout) * (sum(widths) + len(_GAP) * (len(align) - 1))
    console = Console(soft_wrap=True, highlight=False)
    for index, row in enumerate(rows):
        last = total and index == len(rows) - 1
        if last:
            console.print(Text(rule))
        for line in row:
            shown = Text(_line(line, widths, align).rstrip(), style="bold" if last or index == 0 else "")
            if not last and index:
                shown.stylize("cyan", 0, len(line[0]))
            console.print(shown)
        if index == 0:
            console.print(Text(rule))


def _encoding(stream: TextIO | None) -> str:
    return getattr(stream, "encoding", None) or "utf-8"


def _spells_marks() -> bool:
    try:
        _MARKS.encode(_encoding(sys.stdout))
    except UnicodeEncodeError:
        return False
    return True


def _spelt(text: str, stream: TextIO | None) -> str:
    """Return a text in characters that a stream can encode."""
    encoding = _encoding(stream)
    return text.encode(encoding, PLAINLY).decode(encoding)


PLAINLY = "symformer.plainly"  # the error handler for characters that a stream cannot encode


def _plainly(error: UnicodeError) -> tuple[str, int]:
    """Return ASCII for the characters of a formula or a tree, and an escape for any other character."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    text = _SCRIPT.sub(lambda found: "**" + "".join(map(_SUPERSCRIPTS.__getitem__, found[0])), text)
    text = "".join(_PLAIN.get(each, each) for each in text)
    return text.encode("ascii", "backslashreplace").decode("ascii"), error.end


codecs.register_error(PLAINLY, _plainly)
