"""``symformer compare``: two models side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from . import arguments, completing
from .shell import Command
from .terminal import put_json, say, spell, table

if TYPE_CHECKING:
    from ..models.model import Model


@click.command("compare", cls=Command)
@click.argument("a", shell_complete=completing.target)
@click.argument("b", shell_complete=completing.target)
@arguments.quantity
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
@arguments.as_json
def command(a: str, b: str, quantity: str, sets: tuple[str, ...], options: tuple[str, ...], as_json: bool) -> None:
    """Compare two models, part by part.

    Their difference and their ratio follow, as numbers and as formulas, with the terms that grow fastest. A letter that
    both use with different numbers is two sizes: E_1 is the first model's, E_2 the second's.
    """
    from ..algebra.compare import compare as set_side_by_side
    from ..answers.provenance import answered_by, provenance_json
    from ..answers.summary import read_at

    left, right, conventions = _pair(a, b, quantity, sets, options)
    found = set_side_by_side(left, right, quantity, **conventions)
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


def _pair(
    a: str, b: str, quantity: str, sets: tuple[str, ...], options: tuple[str, ...]
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

    given, known = pairs(options), find_quantity(quantity).choices
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
    taken = [model.formula(quantity, **conventions).takes for model in models]
    for name in sizes:
        if name not in taken[0] | taken[1]:
            raise SizeError(f"{name}: neither {a} nor {b} has such a size ({letter(name).meaning}) in {quantity}")
    left, right = (
        model.set({name: value for name, value in sizes.items() if name in each}) if sizes else model
        for model, each in zip(models, taken, strict=True)
    )
    return left, right, conventions
