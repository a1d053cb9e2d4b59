"""Where a document goes and what it is written as: the options of every command that writes one."""

from __future__ import annotations

import click

from ..documents.formats import FLAVOURS, FORMATS
from .terminal import put_bytes, tell

as_format = click.option("--as", "form", type=click.Choice(FORMATS), help="The format, where -o is -.")
engine = click.option(
    "--engine",
    type=click.Choice(["typst", "latex"]),
    default="typst",
    show_default=True,
    help="What makes the PDF; latex needs pdflatex on PATH.",
)
flavour = click.option(
    "--flavour",
    type=click.Choice(FLAVOURS),
    help="How Markdown writes mathematics: as GitHub reads it, as Jupyter does, or in Unicode. [default: github]",
)


def check_flavour(flavour: str | None, extension: str, output: str) -> None:
    """Raise DocumentError for a flavour of what is no Markdown."""
    from ..language.errors import DocumentError

    if flavour and extension != "md":
        raise DocumentError(f"--flavour is one of Markdown, and {output} is .{extension}; leave it out, or write .md")


def put(output: str, content: bytes) -> None:
    """A file on the disk, or on standard output."""
    from ..output.files import write

    if output == "-":
        put_bytes(content)
        return
    write(output, content)
    tell(f"wrote {output}")
