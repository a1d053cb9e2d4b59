"""The output option of every command whose result can be plotted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import completion_values
from .terminal import print_error

if TYPE_CHECKING:
    from ..output.base_plot import Plot

FORMATS = ("svg", "pdf", "png")
NAMES = "FILE.svg, .pdf or .png"

output = click.option(
    "--output",
    "-o",
    metavar="FILE",
    shell_complete=completion_values.file,
    help=f"Plot the result with matplotlib: {NAMES}.",
)


def is_plot(path: str | None, formats: tuple[str, ...] = FORMATS) -> bool:
    """Return True if a path has the extension of a plot."""
    return path is not None and Path(path).suffix.removeprefix(".").lower() in formats


def check(path: str | None, as_json: bool) -> None:
    """Raise UsageError for a plot together with JSON, and DocumentError if the file cannot be written."""
    from ..output.files import check_output

    if path is None:
        return
    if as_json:
        raise click.UsageError("--json prints numbers and -o plots them; remove one of the two")
    check_output(path, "a plot", FORMATS)


def put(path: str, draw: Callable[[], Plot]) -> None:
    """Draw a plot and write it to its file."""
    draw().write(path)
    print_error(f"wrote {path}")
