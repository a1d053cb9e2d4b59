"""The output path and format of a document: the options of every command that writes one."""

from __future__ import annotations

import click

from ..documents.formats import FLAVOURS, FORMATS
from .terminal import print_bytes, print_error

as_format = click.option("--format", "form", type=click.Choice(FORMATS), help="The output format if -o is -.")
engine = click.option(
    "--engine",
    type=click.Choice(["typst", "latex"]),
    default="typst",
    show_default=True,
    help="The PDF engine; latex requires pdflatex on PATH.",
)
flavour = click.option(
    "--flavour",
    type=click.Choice(FLAVOURS),
    help="The notation for mathematics in Markdown: for GitHub, for Jupyter, or plain Unicode. [default: github]",
)


def check_flavour(flavour: str | None, extension: str, output: str) -> None:
    """Raise DocumentError if a flavour is given and the output is not Markdown."""
    from ..language.errors import DocumentError

    if flavour and extension != "md":
        raise DocumentError(
            f"--flavour applies to Markdown only, but {output} is .{extension}; remove --flavour or write .md"
        )


def put(output: str, content: bytes) -> None:
    """Write a document to a file, or to standard output if ``output`` is ``-``."""
    from ..output.files import write

    if output == "-":
        print_bytes(content)
        return
    write(output, content)
    print_error(f"wrote {output}")
