"""``symformer plot``: a model as a figure."""

from __future__ import annotations

import click

from . import arguments, completing
from .shell import Command
from .terminal import put_bytes, tell

FORMATS = ("svg", "pdf", "png", "tex")
KINDS = ("architecture", "part", "shares", "flops", "memory", "roofline")


@click.command("plot", cls=Command)
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...", shell_complete=completing.target)
@click.option(
    "--output",
    "-o",
    required=True,
    metavar="FILE",
    shell_complete=completing.file,
    help=f"FILE.{', .'.join(FORMATS[:-1])} or .{FORMATS[-1]}; - for standard output.",
)
@click.option("--kind", type=click.Choice(KINDS), default="architecture", show_default=True, help="What is drawn.")
@click.option("--part", metavar="PATH", help="The part that --kind part draws, such as h.attn.")
@arguments.quantity
@arguments.sets
@arguments.option
@click.option("--as", "form", type=click.Choice(FORMATS), help="The format, where -o is -.")
def command(
    targets: tuple[str, ...],
    output: str,
    kind: str,
    part: str | None,
    quantity: str,
    sets: tuple[str, ...],
    options: tuple[str, ...],
    form: str | None,
) -> None:
    """Draw a model, or two side by side; with matplotlib, what it takes against what it is given.

    What a TARGET can be, `symformer --help` says.
    """
    from ..documents.figures.architecture import drawn
    from ..documents.figures.emit import emit
    from ..documents.files import check_output, write

    extension = check_output(output, "a figure", FORMATS, form or "")
    models = [arguments.formula(target, quantity, sets, options) for target in targets]
    content = emit(drawn(models, part), extension)
    if output == "-":
        put_bytes(content)
        return
    write(output, content)
    tell(f"wrote {output}")
