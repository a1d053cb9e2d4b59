"""``symformer derive``: the derivation as a document."""

from __future__ import annotations

import click

from ..documents.formats import FORMATS
from . import arguments, completing, writing
from .shell import Command, version

ARCHIVE = "zip"


@click.command("derive", cls=Command)
@click.argument("targets", metavar="TARGET", nargs=-1, required=True, shell_complete=completing.target)
@click.option(
    "--output",
    "-o",
    required=True,
    metavar="FILE",
    shell_complete=completing.file,
    help=f"FILE.{', .'.join(FORMATS)}, or .zip, a bundle for arXiv; - for standard output.",
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
@writing.as_format
@writing.engine
@writing.flavour
@click.option(
    "--template",
    metavar="FILE",
    shell_complete=completing.file,
    help="A Jinja template of your own in place of ours, for .tex, .md, .typ or .html.",
)
@click.option("--fragment", is_flag=True, help="A .tex for \\input into a paper; it needs amsmath and booktabs.")
@click.option("--macros", is_flag=True, help="A .tex of macros: every formula and number, such as \\GptTwoParams.")
@click.option("--live", is_flag=True, help="A .html in which sizes and options can be changed; two TARGETs compare.")
def command(
    targets: tuple[str, ...],
    output: str,
    quantities: tuple[str, ...],
    sets: tuple[str, ...],
    options: tuple[str, ...],
    length: str,
    form: str | None,
    engine: str,
    flavour: str | None,
    template: str | None,
    fragment: bool,
    macros: bool,
    live: bool,
) -> None:
    """Write the derivation as a document.

    What a TARGET can be, `symformer --help` says.
    """
    from ..answers.targets import pairs, resolve
    from ..documents.derivation import document
    from ..documents.files import check_output
    from ..documents.formats import render
    from ..documents.macros import formulas_of
    from ..language.errors import DocumentError

    target = targets[0]
    if len(targets) > 1 and not live:
        raise click.UsageError(
            f"a document is of one TARGET, and {len(targets)} are named; --live sets two side by side"
        )
    if fragment and macros:
        raise click.UsageError("--fragment writes a text and --macros writes definitions; keep one of the two")
    if fragment or macros:
        what = "a fragment" if fragment else "a file of macros"
        extension = check_output(output, what, ("tex",), "tex" if output == "-" and not form else form or "")
        if extension != "tex":
            raise click.UsageError(f"{what} is written as .tex, and --as asks for {extension}; leave --as out")
    else:
        extension = check_output(output, formats=(*FORMATS, ARCHIVE), chosen=form or "")
    asked = tuple(dict.fromkeys(quantities)) or ("params",)
    writing.check_flavour(flavour, extension, output)
    if template and (fragment or macros):
        raise DocumentError("--template stands in place of our own, and --fragment and --macros are ours; keep one")
    if template and extension in ("pdf", ARCHIVE):
        raise DocumentError(
            f"--template makes text, and {output} is .{extension}; write .tex or .typ, and typeset that"
        )
    if macros and length == "short":
        raise DocumentError("--macros writes every formula, and --form short is of a derivation; leave one out")
    if live and (fragment or macros or template):
        other = "--fragment" if fragment else "--macros" if macros else "--template"
        raise DocumentError(f"--live writes a page of its own, and {other} writes something else; keep one of the two")
    if live and extension != "html":
        raise DocumentError(f"--live is one of HTML, and {output} is .{extension}; leave it out, or write .html")
    own = ""
    if template:
        from ..documents.formats.own import fill, read

        own = read(template)
    model, conventions = resolve(target, pairs(options), sets, asked)
    if live:
        from ..documents.live import page

        models = [model, *(resolve(other, pairs(options), sets, asked)[0] for other in targets[1:])]
        writing.put(output, page(models, asked, version(), length, **conventions))
        return
    if macros:
        from ..documents.macros import Asked, spelt

        source = Asked.for_file(version(), model, asked, pairs(options), sets, output)
        writing.put(output, spelt(model, formulas_of(model, asked, conventions), source))
        return
    paper = document(model, asked, version(), form=length, **conventions)
    if extension == ARCHIVE:
        from ..documents.bundle import bundle

        writing.put(output, bundle(model, formulas_of(model, asked, conventions), paper))
        return
    if template:
        writing.put(output, fill(paper, extension, flavour or "github", own, template))
        return
    made = "fragment" if fragment else extension
    writing.put(output, render(paper, made, engine, flavour or "github"))  # type: ignore[arg-type]
