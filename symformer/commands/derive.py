"""``symformer derive``: the derivation as a document."""

from __future__ import annotations

import click

from ..documents.formats import FORMATS
from . import arguments, completing
from .shell import Command, version
from .terminal import put_bytes, tell


@click.command("derive", cls=Command)
@arguments.target
@click.option(
    "--output",
    "-o",
    required=True,
    metavar="FILE",
    shell_complete=completing.file,
    help=f"FILE.{', .'.join(FORMATS[:-1])} or .{FORMATS[-1]}; - for standard output.",
)
@click.option(
    "--quantity",
    "-q",
    "quantities",
    multiple=True,
    metavar="Q",
    shell_complete=completing.quantity,
    help="What to derive; repeat for more than one chapter. [default: params]",
)
@arguments.sets
@arguments.option
@click.option(
    "--form",
    "length",
    type=click.Choice(["full", "short"]),
    default="full",
    show_default=True,
    help="The whole derivation, or a page of it.",
)
@click.option("--as", "form", type=click.Choice(FORMATS), help="The format, where -o is -.")
@click.option(
    "--engine",
    type=click.Choice(["typst", "latex"]),
    default="typst",
    show_default=True,
    help="What makes the PDF; latex needs pdflatex on PATH.",
)
def command(
    target: str,
    output: str,
    quantities: tuple[str, ...],
    sets: tuple[str, ...],
    options: tuple[str, ...],
    length: str,
    form: str | None,
    engine: str,
) -> None:
    """Write the derivation as a document.

    What a TARGET can be, `symformer --help` says.
    """
    from ..answers.targets import pairs, resolve
    from ..documents.derivation import document
    from ..documents.files import check_output, write
    from ..documents.formats import render

    extension = check_output(output, chosen=form or "")
    asked = tuple(dict.fromkeys(quantities)) or ("params",)
    model, conventions = resolve(target, pairs(options), sets, asked)
    paper = document(model, asked, version(), form=length, **conventions)
    content = render(paper, extension, engine)  # type: ignore[arg-type]
    if output == "-":
        put_bytes(content)
        return
    write(output, content)
    tell(f"wrote {output}")
