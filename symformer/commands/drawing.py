"""Where a plot of an answer goes: the options of every command whose answer can be drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import completing
from .terminal import tell

if TYPE_CHECKING:
    from ..output.picture import Picture

FORMATS = ("svg", "pdf", "png")
NAMES = "FILE.svg, .pdf or .png"

output = click.option(
    "--output", "-o", metavar="FILE", shell_complete=completing.file, help=f"Draw it with matplotlib: {NAMES}."
)


def is_plot(path: str | None, formats: tuple[str, ...] = FORMATS) -> bool:
    """Whether a file is one of a plot, by its name."""
    return path is not None and Path(path).suffix.removeprefix(".").lower() in formats


def check(path: str | None, as_json: bool) -> None:
    """Raise UsageError for a plot beside JSON, and DocumentError for a file that cannot be one, before any work."""
    from ..output.files import check_output

    if path is None:
        return
    if as_json:
        raise click.UsageError("--json prints numbers and -o draws them; keep one of the two")
    check_output(path, "a plot", FORMATS)


def put(path: str, draw: Callable[[], Picture]) -> None:
    """What is drawn, in its file."""
    draw().write(path)
    tell(f"wrote {path}")
