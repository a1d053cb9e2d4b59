"""``symformer compare``: two models side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ..documents.formats import FORMATS
from . import arguments, completing, writing
from .shell import Command, version
from .terminal import put_json, say, spell, table

if TYPE_CHECKING:
    from sympy import Symbol

    from ..models.model import Model


@click.command("compare", cls=Command)
@click.argument("a", shell_complete=completing.target)
@click.argument("b", shell_complete=completing.target)
@click.option(
    "--quantity",
    "-q",
    "quantities",
    multiple=True,
    metavar="Q",
    shell_complete=completing.quantity,
    help="What to count; in a document, repeat for more than one chapter. [default: params]",
)
@click.option(
    "--set", "sets", multiple=True, metavar="NAME=VALUE", help="A size, such as S=1024, of each model that has it."
)
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="KEY=VALUE",
    help="A convention, such as attention=causal, or an option of each model that has it, such as tied=false.",
)
@click.option(
    "--output",
    "-o",
    metavar="FILE",
    shell_complete=completing.file,
    help=f"Write a document: FILE.{', .'.join(FORMATS)}; - for standard output.",
)
@writing.as_format
@writing.engine
@writing.flavour
@arguments.as_json
def command(
    a: str,
    b: str,
    quantities: tuple[str, ...],
    sets: tuple[str, ...],
    options: tuple[str, ...],
    output: str | None,
    form: str | None,
    engine: str,
    flavour: str | None,
    as_json: bool,
) -> None:
    """Compare two models, part by part.

    Their difference and their ratio follow, as numbers and as formulas, with the terms that grow fastest. A letter that
    both use with different numbers is two sizes: E_1 is the first model's, E_2 the second's.
    """
    from ..algebra.compare import compare as set_side_by_side
    from ..answers.provenance import answered_by, provenance_json
    from ..answers.summary import read_at

    asked = tuple(dict.fromkeys(quantities)) or ("params",)
    if output is not None:
        if as_json:
            raise click.UsageError("--json prints numbers and -o writes a document; keep one of the two")
        _write(a, b, asked, sets, options, output, form, engine, flavour)
        return
    if form or flavour:
        raise click.UsageError(
            f"{'--as' if form else '--flavour'} is of a document; name its file by -o, or leave it out"
        )
    if len(asked) > 1:
        raise click.UsageError(f"{' and '.join(asked)} together are chapters of a document; name its file by -o")
    left, right, conventions = _pair(a, b, asked, sets, options)
    found = set_side_by_side(left, right, asked[0], **conventions)
    sides_of = list(zip((left, right), found.formulas, strict=True))
    if as_json:
        commits = {side: read for side, model in (("left", left), ("right", right)) if (read := read_at(model))}
        each = {side: provenance_json(*one) for side, one in zip(("left", "right"), sides_of, strict=True)}
        put_json({**found.to_json(), **({"read": commits} if commits else {}), "provenance": each})
        return
    rows = []
    for role, *sides in found.rows:
        values = [("" if side.value is None else f"{side.value:,}") for side in sides]
        rows.append([role, *(spell(side.expr) for side in sides), *values])
    below = found.lines(spell)  # all of it is reckoned before anything is printed
    table(["part", *(2 * [left.target, right.target])], rows, "lllrr", total=True)
    sources = [f"{each.target} is of {each.provenance.read_at}" for each in (left, right) if each.provenance.read_at]
    answered = [f"{model.target}: {line}" for model, formula in sides_of for line in answered_by(model, formula)]
    for line in ["", *below, "", *dict.fromkeys([*sources, *answered])]:
        say(line)


def _write(
    a: str,
    b: str,
    asked: tuple[str, ...],
    sets: tuple[str, ...],
    options: tuple[str, ...],
    output: str,
    form: str | None,
    engine: str,
    flavour: str | None,
) -> None:
    """The comparison as a document."""
    from ..algebra.compare import compare as set_side_by_side
    from ..documents.comparison import document
    from ..documents.files import check_output
    from ..documents.formats import render
    from ..quantities import quantity as find_quantity

    extension = check_output(output, "a comparison", chosen=form or "")
    writing.check_flavour(flavour, extension, output)
    left, right, conventions = _pair(a, b, asked, sets, options)
    found = []
    for name in asked:
        known = find_quantity(name).choices
        own = {key: choice for key, choice in conventions.items() if key in known}
        found.append(set_side_by_side(left, right, name, **own))
    made = render(document(found, version()), extension, engine, flavour or "github")  # type: ignore[arg-type]
    writing.put(output, made)


def _pair(
    a: str, b: str, asked: tuple[str, ...], sets: tuple[str, ...], options: tuple[str, ...]
) -> tuple[Model, Model, dict[str, str]]:
    """Two models, with options and sizes set in each that has them, and the conventions among the options.

    Raises UnknownNameError and SizeError for what neither has.
    """
    from ..answers.targets import pairs, resolve
    from ..language.errors import SizeError, UnknownNameError
    from ..language.sizes import assignments
    from ..language.symbols import letter
    from ..language.target import Kind, parse
    from ..quantities import quantity as find_quantity

    given = pairs(options)
    known = {name: choice for each in asked for name, choice in find_quantity(each).choices.items()}
    conventions = {name: given.pop(name) for name in list(given) if name in known}
    starts = [sets if parse(target).kind is Kind.FACTORY else () for target in (a, b)]
    models = [resolve(target, sets=start)[0] for target, start in zip((a, b), starts, strict=True)]
    choices = [dict.fromkeys(model.component.choices()) for model in models]
    for name in given:
        if not any(name in each for each in choices):
            raise UnknownNameError(f"option of {a} and {b}", name, {**choices[0], **choices[1], **known})
    for place, target in enumerate((a, b)):
        if own := {name: value for name, value in given.items() if name in choices[place]}:
            models[place], _ = resolve(target, own, starts[place])
    sizes = assignments(sets)
    taken = [_taken(model, asked, conventions) for model in models]
    for name in sizes:
        if name not in taken[0] | taken[1]:
            what = " or ".join(asked)
            raise SizeError(f"{name}: neither {a} nor {b} has such a size ({letter(name).meaning}) in {what}")
    left, right = (
        model.set({name: value for name, value in sizes.items() if name in each}) if sizes else model
        for model, each in zip(models, taken, strict=True)
    )
    return left, right, conventions


def _taken(model: Model, asked: tuple[str, ...], conventions: dict[str, str]) -> set[Symbol]:
    """The sizes that what is asked about a model can be given."""
    from ..quantities import quantity as find_quantity

    found: set[Symbol] = set()
    for name in asked:
        known = find_quantity(name).choices
        found |= model.formula(name, **{key: choice for key, choice in conventions.items() if key in known}).takes
    return found
