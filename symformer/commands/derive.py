"""``symformer derive``: the derivation as a document."""

from __future__ import annotations

import click

from ..documents.formats import FLAVOURS, FORMATS
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
@click.option("--as", "form", type=click.Choice(FORMATS), help="The format, where -o is -.")
@click.option(
    "--engine",
    type=click.Choice(["typst", "latex"]),
    default="typst",
    show_default=True,
    help="What makes the PDF; latex needs pdflatex on PATH.",
)
@click.option(
    "--flavour",
    type=click.Choice(FLAVOURS),
    help="How Markdown writes mathematics: as GitHub reads it, as Jupyter does, or in Unicode. [default: github]",
)
@click.option(
    "--template",
    metavar="FILE",
    shell_complete=completing.file,
    help="A Jinja template of your own in place of ours, for .tex, .md, .typ or .html.",
)
def command(
    target: str,
    output: str,
    quantities: tuple[str, ...],
    sets: tuple[str, ...],
    options: tuple[str, ...],
    form: str | None,
    engine: str,
    flavour: str | None,
    template: str | None,
) -> None:
    """Write the derivation as a document.

    What a TARGET can be, `symformer --help` says.
    """
    from ..answers.targets import pairs, resolve
    from ..documents.derivation import document
    from ..documents.files import check_output, write
    from ..documents.formats import render
    from ..language.errors import DocumentError

    extension = check_output(output, chosen=form or "")
    asked = tuple(dict.fromkeys(quantities)) or ("params",)
    if flavour and extension != "md":
        raise DocumentError(f"--flavour is one of Markdown, and {output} is .{extension}; leave it out, or write .md")
    if template and extension == "pdf":
        raise DocumentError(f"--template makes text, and {output} is .pdf; write .tex or .typ, and typeset that")
    own = ""
    if template:
        from ..documents.formats.own import fill, read

        own = read(template)
    model, conventions = resolve(target, pairs(options), sets, asked)
    paper = document(model, asked, version(), **conventions)
    if template:
        content = fill(paper, extension, flavour or "github", own, template)
    else:
        content = render(paper, extension, engine, flavour or "github")  # type: ignore[arg-type]
    if output == "-":
        put_bytes(content)
        return
    write(output, content)
    tell(f"wrote {output}")
