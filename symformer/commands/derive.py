"""``symformer derive``: the derivation as a document."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from .. import __version__
from ..documents.formats import FORMATS, Engine, Flavour
from . import arguments, completing, writing
from .shell import Command
from .terminal import tell

if TYPE_CHECKING:
    from ..documents.order import Kind

ARCHIVE = "zip"


@click.command("derive", cls=Command)
@click.argument("targets", metavar="TARGET...", nargs=-1, required=True, shell_complete=completing.target)
@click.option(
    "--output",
    "-o",
    required=True,
    metavar="FILE",
    shell_complete=completing.file,
    help=f"FILE.{', .'.join(FORMATS)}, or .zip, a bundle for arXiv; FOLDER/ for a file of each TARGET; - for standard "
    "output.",
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
@click.option(
    "--as",
    "form",
    type=click.Choice([*FORMATS, ARCHIVE]),
    help="The format, where -o is - or a FOLDER. [default in a FOLDER: pdf]",
)
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
    engine: Engine,
    flavour: Flavour | None,
    template: str | None,
    fragment: bool,
    macros: bool,
    live: bool,
) -> None:
    """Write the derivation as a document.

    What a TARGET can be, `symformer --help` says. In a FOLDER each TARGET gets a file of its own, called after it: all
    of them are written, or none.
    """
    from ..answers.targets import pairs
    from ..documents.folder import made_of_each
    from ..documents.order import Order
    from ..language.errors import DocumentError, listed
    from ..output.files import is_folder, write_all

    into = is_folder(output, (*FORMATS, ARCHIVE))
    if len(targets) > 1 and not into and not live:
        holds = "standard output takes" if output == "-" else f"{output} is"
        raise click.UsageError(
            f"{holds} one document, and {len(targets)} TARGETs are named; a folder, as in -o FOLDER/, "
            "takes one of each, and --live sets two side by side"
        )
    if os.path.isdir(output) and not into:
        raise DocumentError(
            f"{output} is a folder with the extension of a file; write {output}/ to put a file per TARGET in it, or "
            "give the name of a file"
        )
    kind = _kind(fragment, macros, live, template, length)
    extension = _extension(output, into, form or "", kind)
    place = f"what goes into {output}" if into else output
    writing.check_flavour(flavour, extension, place)
    own = _own(template, extension, place) if template else None
    asked = tuple(dict.fromkeys(quantities)) or ("params",)
    usual: Flavour = flavour or "github"
    order = Order(__version__, extension, kind, asked, pairs(options), sets, length, engine, usual, own)
    if into:
        made = made_of_each(order, targets, output)
        write_all(output, made)
        tell(f"wrote {listed(made)} in {output}")
        return
    models, conventions = zip(*map(order.resolved, targets), strict=True)
    writing.put(output, order.written(models, conventions[0], output))


def _kind(fragment: bool, macros: bool, live: bool, template: str | None, length: str) -> Kind:
    """What is written. Raises UsageError and DocumentError for options that do not go together."""
    from ..language.errors import DocumentError

    if fragment and macros:
        raise click.UsageError("--fragment writes a text and --macros writes definitions; keep one of the two")
    if live and (fragment or macros or template):
        other = "--fragment" if fragment else "--macros" if macros else "--template"
        raise DocumentError(f"--live writes a page of its own, and {other} writes something else; keep one of the two")
    if template and (fragment or macros):
        raise DocumentError("--template stands in place of our own, and --fragment and --macros are ours; keep one")
    if macros and length == "short":
        raise DocumentError("--macros writes every formula, and --form short is of a derivation; leave one out")
    return "fragment" if fragment else "macros" if macros else "live" if live else "derivation"


def _extension(output: str, into: bool, form: str, kind: Kind) -> str:
    """How the files end. Raises UsageError and DocumentError where they cannot be written, before any work is done."""
    from ..language.errors import DocumentError
    from ..output.files import check_new_folder, check_output

    what = {"fragment": "a fragment", "macros": "a file of macros"}.get(kind, "")
    usual = "tex" if what else "html" if kind == "live" else FORMATS[0]
    if into:
        check_new_folder(output)
        extension = form or usual
    elif what:
        extension = check_output(output, what, ("tex",), form or usual if output == "-" else form)
    else:
        extension = check_output(output, "a derivation", (*FORMATS, ARCHIVE), form)
    if what and extension != "tex":
        raise click.UsageError(f"{what} is written as .tex, and --as asks for {extension}; leave --as out")
    if kind == "live" and extension != "html":
        place = f"what goes into {output}" if into else output
        raise DocumentError(f"--live is one of HTML, and {place} is .{extension}; leave it out, or write .html")
    return extension


def _own(template: str, extension: str, place: str) -> tuple[str, str]:
    """The name and the text of a template. Raises DocumentError."""
    from ..documents.formats.own import check_delimiters, read
    from ..language.errors import DocumentError

    if extension in ("pdf", ARCHIVE):
        raise DocumentError(f"--template makes text, and {place} is .{extension}; write .tex or .typ, and typeset that")
    text = read(template)
    if warning := check_delimiters(text, template):
        tell(warning)
    return template, text
