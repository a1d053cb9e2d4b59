"""``symformer derive``: the derivation as a document."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

import click

from .. import __version__
from ..documents.document_forms import FORMS, LENGTHS, Form, Length
from ..documents.formats import ARCHIVE, FORMATS, Engine, Flavour
from . import arguments, completion_values, document_output
from .base_command import Command
from .terminal import print_error

if TYPE_CHECKING:
    from ..documents.document_request import Kind


TABLE = "table"  # a form of a survey only


class _FormChoice(click.Choice[str]):
    """The forms of a document; a length is accepted too, since --length was once called --form."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return value if value in LENGTHS else super().convert(value, param, ctx)


@click.command("derive", cls=Command)
@click.argument("targets", metavar="TARGET...", nargs=-1, required=True, shell_complete=completion_values.target)
@click.option(
    "--output",
    "-o",
    required=True,
    metavar="FILE",
    shell_complete=completion_values.file,
    help=f"FILE.{', .'.join(FORMATS)}, or .zip (a bundle for arXiv); FOLDER/ for one file per TARGET; - for standard "
    "output.",
)
@click.option(
    "--quantity",
    "-q",
    "quantities",
    multiple=True,
    metavar="Q",
    shell_complete=completion_values.quantity,
    help="The quantity to derive; repeatable, one chapter each. [default: params; for a survey, also active-params, "
    "flops and kv-cache]",
)
@arguments.sets
@arguments.option
@click.option(
    "--length",
    "length",
    type=click.Choice(LENGTHS),
    default=LENGTHS[0],
    show_default=True,
    help="The full derivation, or a one-page version.",
)
@click.option(
    "--form",
    type=_FormChoice([*FORMS, TABLE]),
    default=FORMS[0],
    show_default=True,
    help="A derivation to read; the slides of a lecture on it (.pdf or .typ), one step per slide; a worksheet: the "
    "derivation with its results left blank, and an answer key at the end; or only the table of totals of a survey, as "
    "`symformer table` writes it.",
)
@arguments.forms
@click.option(
    "--format",
    "file_format",
    type=click.Choice([*FORMATS, ARCHIVE]),
    help="The output format if -o is - or a FOLDER. [default in a FOLDER: pdf]",
)
@document_output.engine
@document_output.flavour
@click.option(
    "--template",
    metavar="FILE",
    shell_complete=completion_values.file,
    help="Use your own Jinja template, for .tex, .md, .typ or .html.",
)
@click.option("--fragment", is_flag=True, help="Write a .tex fragment for \\input; it requires amsmath and booktabs.")
@click.option(
    "--macros",
    is_flag=True,
    help="Write a .tex file with a macro for every formula and number, such as \\GptTwoParams.",
)
@click.option(
    "--live",
    is_flag=True,
    help="Write an interactive .html page for changing sizes and options; two TARGETs are compared side by side.",
)
def command(
    targets: tuple[str, ...],
    output: str,
    quantities: tuple[str, ...],
    sets: tuple[str, ...],
    options: tuple[str, ...],
    form: str,
    length: Length,
    forms: tuple[str, ...],
    file_format: str | None,
    engine: Engine,
    flavour: Flavour | None,
    template: str | None,
    fragment: bool,
    macros: bool,
    live: bool,
) -> None:
    """Write the derivation as a document.

    `symformer --help` lists the forms of a TARGET. Several TARGETs in one file are a survey: their structure, sizes,
    totals and costs per token, formulas, plots against the length, and differences from the first. With -o FOLDER/,
    each TARGET gets its own file, named after it; if one of them cannot be written, none is.
    """
    from ..documents.document_request import DocumentRequest
    from ..documents.folder import folder_files
    from ..language.errors import DocumentError, listed
    from ..output.files import is_folder, write_all
    from ..targets.resolution import pairs

    if form in LENGTHS:  # --form was the former name of --length
        length, form = form, FORMS[0]
    if forms and (form != FORMS[0] or length == "short" or macros or live or len(targets) > 1):
        raise click.UsageError(
            "--rewrite adds a section to the full derivation of one TARGET; remove it, or the other form and TARGETs"
        )
    if form == TABLE:
        given = {"--length short": length == "short", "--fragment": fragment, "--macros": macros, "--live": live}
        _check_form(TABLE, {**given, "--template": bool(template), "--engine latex": engine == "latex"}, 1)
        _write_table(targets, quantities, sets, options, output, file_format or "")
        return
    shown = cast("Form", form)
    into = is_folder(output, (*FORMATS, ARCHIVE))
    together = len(targets) > 1 and not into and not live
    if together and macros:
        raise click.UsageError(
            f"--macros writes the macros of one TARGET, but {len(targets)} are given; write one file per TARGET with "
            "-o FOLDER/"
        )
    if os.path.isdir(output) and not into:
        raise DocumentError(
            f"{output} is a folder, but its name ends like a file; use -o {output}/ to write one file per TARGET into "
            "it, or choose another file name"
        )
    others = {
        "--length short": length == "short",
        "--fragment": fragment,
        "--macros": macros,
        "--live": live,
        "--template": bool(template) and form == "slides",
        "--engine latex": engine == "latex" and form == "slides",
    }
    _check_form(shown, others, len(targets) if together else 1)
    kind = _kind(fragment, macros, live, template, length)
    extension = _extension(output, into, file_format or "", kind)
    place = f"each file in {output}" if into else output
    document_output.check_flavour(flavour, extension, place)
    if form == "slides":
        from ..documents.formats.typst_slides import check_format

        check_format(extension, place)
    own = _own(template, extension, place) if template else None
    usual: Flavour = flavour or "github"
    if together:
        from ..documents.survey_document import USUAL

        asked = tuple(dict.fromkeys(quantities)) or USUAL
        order = DocumentRequest(__version__, extension, kind, asked, {}, sets, length, engine, usual, own)
        document_output.put(output, order.surveyed(targets, options))
        return
    asked = tuple(dict.fromkeys(quantities)) or (() if live else ("params",))
    order = DocumentRequest(
        __version__, extension, kind, asked, pairs(options), sets, length, engine, usual, own, shown, forms
    )
    if into:
        made = folder_files(order, targets, output)
        write_all(output, made)
        print_error(f"wrote {listed(made)} in {output}")
        return
    models, conventions = zip(*map(order.resolved, targets), strict=True)
    document_output.put(output, order.written(models, conventions[0], output))


def _write_table(
    targets: tuple[str, ...],
    quantities: tuple[str, ...],
    sets: tuple[str, ...],
    options: tuple[str, ...],
    output: str,
    file_format: str,
) -> None:
    """Write the table of totals of a survey, with costs per token."""
    from ..documents.formats import TABLES
    from ..documents.model_table import ModelTable
    from ..documents.survey_document import USUAL, with_lengths
    from ..output.files import check_output
    from ..targets.side_by_side import SideBySideTargets
    from .table import write_table

    extension = check_output(output, "a table", TABLES, file_format)
    asked = tuple(dict.fromkeys(quantities)) or USUAL
    models, conventions = SideBySideTargets.of(targets, asked, sets, options, skip_refused=True).models()
    found = ModelTable.of(with_lengths(models, asked, conventions), asked, conventions, per_token=True)
    write_table(found, output, extension)


def _check_form(form: str, others: Mapping[str, bool], targets: int) -> None:
    """Raise DocumentError if a form other than a derivation cannot be combined with another option.

    Parameters
    ----------
    form
        The form of the document.
    others
        Options that only a derivation takes, and whether each is given.
    targets
        The number of targets in one file.

    """
    from ..language.errors import DocumentError

    if form == FORMS[0]:
        return
    if other := next((name for name, given in others.items() if given), ""):
        raise DocumentError(f"--form {form} cannot be combined with {other}; remove one of the two")
    if targets > 1:
        raise DocumentError(
            f"--form {form} writes a document of one TARGET, but {targets} are given; write one file per TARGET with "
            "-o FOLDER/"
        )


def _kind(fragment: bool, macros: bool, live: bool, template: str | None, length: str) -> Kind:
    """Return the kind of document. Raises UsageError and DocumentError for options that cannot be combined."""
    from ..language.errors import DocumentError

    if fragment and macros:
        raise click.UsageError("--fragment and --macros write different files; remove one of the two")
    if live and (fragment or macros or template):
        other = "--fragment" if fragment else "--macros" if macros else "--template"
        raise DocumentError(f"--live cannot be combined with {other}; remove one of the two")
    if template and (fragment or macros):
        raise DocumentError("--template cannot be combined with --fragment or --macros; remove one of the two")
    if macros and length == "short":
        raise DocumentError(
            "--macros writes every formula and cannot be combined with --length short; remove one of the two"
        )
    return "fragment" if fragment else "macros" if macros else "live" if live else "derivation"


def _extension(output: str, into: bool, form: str, kind: Kind) -> str:
    """Return the file extension. Raises UsageError and DocumentError if the files cannot be written."""
    from ..language.errors import DocumentError
    from ..output.files import check_new_folder, check_output

    what = {"fragment": "--fragment", "macros": "--macros"}.get(kind, "")
    usual = "tex" if what else "html" if kind == "live" else FORMATS[0]
    if into:
        check_new_folder(output)
        extension = form or usual
    elif what:
        extension = check_output(output, what, ("tex",), form or usual if output == "-" else form)
    else:
        extension = check_output(output, "a derivation", (*FORMATS, ARCHIVE), form)
    if what and extension != "tex":
        raise click.UsageError(f"{what} writes .tex, but --format is {extension}; remove --format")
    if kind == "live" and extension != "html":
        place = f"each file in {output}" if into else output
        raise DocumentError(f"--live writes .html, but {place} is .{extension}; remove --live or write .html")
    return extension


def _own(template: str, extension: str, place: str) -> tuple[str, str]:
    """Return the name and the text of a template. Raises DocumentError if it cannot be used."""
    from ..documents.formats.user_template import check_delimiters, read_template
    from ..language.errors import DocumentError

    if extension in ("pdf", ARCHIVE):
        raise DocumentError(
            f"--template writes text formats only, but {place} is .{extension}; write .tex or .typ, and compile it"
        )
    text = read_template(template)
    if warning := check_delimiters(text, template):
        print_error(warning)
    return template, text
