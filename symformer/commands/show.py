"""``symformer show``: a formula, its value and its breakdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ..views.notations import NOTATIONS
from . import arguments, completion_values
from .base_command import Command
from .terminal import print_error, print_json, print_line, print_lines, spell, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sympy import Symbol

    from ..formulas.formula import Formula
    from ..models.model import Model


@click.command("show", cls=Command)
@arguments.target
@arguments.quantity
@arguments.sets
@arguments.option
@click.option(
    "--part",
    metavar="PATH",
    shell_complete=completion_values.part,
    help="Show the formula of one copy of a single part, such as h.attn.",
)
@click.option(
    "--as", "notation", type=click.Choice(list(NOTATIONS)), help="Print only the equation, on one line, ready to paste."
)
@click.option(
    "--conventions", "every", is_flag=True, help="Compare every value of each convention and list who uses it."
)
@arguments.as_json
def command(
    target: str,
    quantity: str,
    sets: tuple[str, ...],
    options: tuple[str, ...],
    part: str | None,
    notation: str | None,
    every: bool,
    as_json: bool,
) -> None:
    """Show a formula, its value and its breakdown.

    `symformer --help` lists the forms of a TARGET.
    """
    from ..formulas import ranks
    from ..language.notation.text import text
    from ..quantities import quantity as find_quantity
    from ..views.equations import equation, label
    from ..views.part_copies import copies_line, part_json, path_of
    from ..views.provenance_lines import provenance_json, provenance_lines
    from ..views.summary import amount, missing_of, remarks, show_json, value_of

    if notation is not None and (as_json or every):
        other = "--json" if as_json else "--conventions"
        raise click.UsageError(
            f"--as {notation} prints only the equation and cannot be combined with {other}; remove one of the two"
        )
    if part == "":
        raise click.UsageError("the name of the part is empty; give one, such as --part h.attn, or remove --part")
    if every:
        if part is not None:
            raise click.UsageError(
                "--conventions applies to the whole model and cannot be combined with --part; remove one of the two"
            )
        _conventions(target, quantity, sets, options, as_json)
        return
    model, whole = arguments.formula(target, quantity, sets, options)
    formula = whole if part is None else whole.part(part)
    if notation is not None:
        print_lines(equation(formula, notation) + "\n")
        for line in ranks.stated(formula.ranks, model.known):  # on standard error: the equation itself is pasted
            print_error(line)
        return
    if as_json:
        place = {} if part is None else {"part": part_json(model, formula)}
        print_json({**show_json(model, formula), **place, "provenance": provenance_json(model, whole)})
        return
    value = value_of(formula, model)
    print_line(
        f"{model.title} ({model.target}): {formula.measure.title}" + (f" of one {path_of(formula)}" if part else "")
    )
    closed = f"{spell(label(formula))} = {spell(formula.written)}"
    if value is not None and formula.symbols:
        closed += f" = {amount(value, formula.measure.unit)}"
    print_line(closed)
    if part:
        print_line(copies_line(model, formula, spell))
    missing = missing_of(formula, model)
    if model.known:
        print_line("with " + ", ".join(f"{name} = {size:,}" for name, size in model.known.items()))
    for total in formula.totals & formula.written.free_symbols:
        print_line(f"where {total} = {text(formula.relations[total])}")
    if missing:
        print_line(_unnumbered(model, missing))
    concerned = find_quantity(quantity).said(formula)  # without the conventions that do not affect this formula
    for name, choice in {**concerned, **model.component.chosen}.items():
        print_line(f"{name} = {choice}")
    for remark in remarks(model, formula, spell):
        print_line(remark)
    for line in provenance_lines(model, whole):
        print_line(line)
    print_line()
    _breakdown(model, formula, value)


def _unnumbered(model: Model, missing: Sequence[Symbol]) -> str:
    """Return a sentence naming the sizes without a value and how to set them; presets do not set sizes of the run."""
    from ..architectures import presets_of
    from ..language.symbols import letter

    known = presets_of(model.id) if model.id == model.target else []
    own = known and any(not letter(each).run for each in missing)
    preset = f", or name a preset, such as {known[0]}" if own else ""
    return f"no value for {', '.join(map(str, missing))}: set each with --set{preset}"


def _conventions(target: str, quantity: str, sets: tuple[str, ...], options: tuple[str, ...], as_json: bool) -> None:
    from ..quantities import quantity as find_quantity
    from ..targets.resolution import pairs, resolve
    from ..views.convention_table import alternatives, rank_lines

    model, given = resolve(target, pairs(options), sets, [quantity])
    found, measure = alternatives(model, quantity, given), find_quantity(quantity).measure
    model.asked_by(variant.formula for variant in found if variant.formula is not None)
    if as_json:
        facts = [variant.to_json() for variant in found]
        print_json({"target": model.target, "quantity": quantity, "unit": measure.unit, "variants": facts})
        return
    print_line(
        f"{model.title} ({model.target}): {measure.title}, one convention changed at a time; * marks the value in use\n"
    )
    table(["convention", f"{measure.letter} =", measure.unit, "used by"], [v.row(spell) for v in found], "llrl")
    for line in rank_lines(found, model, spell):
        print_line(f"\n{line}")


def _breakdown(model: Model, formula: Formula, value: int | None) -> None:
    from ..language.notation.text import number, percent
    from ..views.summary import share

    rows = []
    for row in formula.rows:
        cells = [row.path, spell(row.count), spell(row.each)]
        if value is not None:
            amount = formula.of_row(row, model.known)
            cells += [number(amount), *([percent(share(amount, value))] if formula.additive else [])]
        rows.append(cells)
    if not rows:
        return
    if value is None:
        table(["row", "copies", "each"], rows, "lrl")
    elif not formula.additive:
        table(["row", "copies", "each", formula.measure.unit], rows, "lrlr")
    else:
        rows.append(["total", "", "", f"{value:,}", percent(share(value, value))])
        table(["row", "copies", "each", formula.measure.unit, "share"], rows, "lrlrr", total=True)
