"""What a terminal shows: tables in colour where there is one, plain columns where the output is piped."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from unicodedata import combining


def table(head: Sequence[str], rows: Sequence[Sequence[str]], align: str, *, total: bool = False) -> None:
    """Print a table; ``align`` has one letter a column, l or r; ``total`` sets the last row apart."""
    if sys.stdout.isatty():
        _rich(head, rows, align, total)
    else:
        for line in plain(head, rows, align):
            say(line)


def plain(head: Sequence[str], rows: Sequence[Sequence[str]], align: str) -> list[str]:
    """The lines of a table without colour: columns two spaces apart."""
    whole = [list(head), *map(list, rows)]
    widths = [max(_width(row[column]) for row in whole) for column in range(len(head))]
    lines = []
    for row in whole:
        cells = []
        for cell, width, side in zip(row, widths, align, strict=True):
            space = " " * (width - _width(cell))
            cells.append(space + cell if side == "r" else cell + space)
        lines.append("  ".join(cells).rstrip())
    return lines


def say(text: str = "") -> None:
    """One line on standard output."""
    sys.stdout.write(text + "\n")


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar on standard error, told how many are done; nothing where that is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)


def _width(cell: str) -> int:
    return sum(1 for character in cell if not combining(character))


def _rich(head: Sequence[str], rows: Sequence[Sequence[str]], align: str, total: bool) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for name, side in zip(head, align, strict=True):
        shown.add_column(name, justify="right" if side == "r" else "left", overflow="fold")
    for index, row in enumerate(rows):
        last = total and index == len(rows) - 1
        if last:
            shown.add_section()
        styles = ["cyan", *[""] * (len(row) - 1)]
        shown.add_row(
            *(Text(cell, style="bold" if last else style) for cell, style in zip(row, styles, strict=True)),
        )
    Console().print(shown)
