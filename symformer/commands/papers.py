"""``symformer papers``: published formulas and numbers, compared with ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from . import arguments, completion_values
from .base_command import Command
from .terminal import print_blocks, print_json, print_line, table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..algebra.formula_claims import PrintedFormula
    from ..algebra.number_claims import PublishedNumber
    from ..algebra.publications import Publication


@click.command("papers", cls=Command)
@click.argument("name", metavar="[ID]", required=False, shell_complete=completion_values.published)
@arguments.as_json
def command(name: str | None, as_json: bool) -> None:
    """Compare published formulas and numbers with ours.

    Without ID, list the sources: papers, books, model cards and code. With the ID of a source, list each formula and
    number it publishes, with the comparison to ours or the reason there is none. With the ID of a formula or a number,
    show its full comparison.

    \b
    symformer papers
    symformer papers korthikanti2022
    symformer papers kor_eq1
    symformer papers gpt_2_paper_small
    """
    from ..algebra.publications import publications
    from ..language.errors import UnknownNameError

    found = publications()
    if name is None:
        _all(found.values(), as_json)
        return
    if name in found:
        _source(found[name], as_json)
        return
    formulas = {each.id: each for one in found.values() for each in one.formulas}
    numbers = {each.id: each for one in found.values() for each in one.numbers}
    if name in formulas:
        _formula(formulas[name], as_json)
    elif name in numbers:
        _number(numbers[name], as_json)
    else:
        raise UnknownNameError("paper, published formula or number", name, [*found, *formulas, *numbers])


def _all(found: Iterable[Publication], as_json: bool) -> None:
    every = list(found)
    if as_json:
        print_json([each.to_json() for one in every for each in one.entries])
        return
    rows = [[one.id, one.title, *map(_count, (len(one.formulas), len(one.numbers), one.amiss))] for one in every]
    sums = [str(sum(each)) for each in zip(*((len(x.formulas), len(x.numbers), x.amiss) for x in every), strict=True)]
    table(["id", "source", "formulas", "numbers", "corrections"], [*rows, ["total", "", *sums]], "llrrr", total=True)
    print_line()
    print_line(
        "symformer papers ID shows one source; corrections are entries that differ from what they claim to count."
    )


def _count(number: int) -> str:
    return str(number or "")


def _source(found: Publication, as_json: bool) -> None:
    if as_json:
        print_json([each.to_json() for each in found.entries])
        return
    print_line(found.title)
    if found.formulas:
        print_line()
        rows = [[each.id, each.where, _of(each), each.says] for each in found.formulas]
        table(["formula", "where", "compared with", "verdict"], rows, "llll")
    if found.numbers:
        print_line()
        rows = [[each.id, each.whose, each.printed, each.counts, each.target, each.says] for each in found.numbers]
        table(["number", "where", "printed", "published as", "compared with", "verdict"], rows, "llllll")


def _formula(entry: PrintedFormula, as_json: bool) -> None:
    found = entry.check
    if as_json:
        print_json({**entry.to_json(), "check": found.to_json() if found else None})
        return
    print_line(f"{entry.whose}, {entry.where}" + (f"  {entry.url}" if entry.url else ""))
    print_line()
    print_line(f"printed     {entry.latex}")
    if entry.read:
        print_line(f"read as     {entry.read}")
    if entry.because or entry.without:
        print_line(f"because     {entry.because or entry.without}" if found else f"unchecked   {entry.without}")
    if entry.correction:
        print_line(f"correction  {entry.correction}")
    if found is not None:
        print_line()
        print_blocks(found.to_blocks())


def _number(entry: PublishedNumber, as_json: bool) -> None:
    found = entry.explanation
    if as_json:
        print_json({**entry.to_json(), "explanation": found.to_json() if found else None})
        return
    print_line(f"{entry.whose}: {entry.printed}, published as {entry.counts}")
    print_line()
    if found is None:
        print_line(f"unchecked   {entry.without}")
    else:
        print_line(found.reason)
    if entry.correction and entry.correction not in entry.without:
        print_line(f"correction  {entry.correction}")
    if entry.note:
        print_line(f"note        {entry.note}")


def _of(entry: PrintedFormula) -> str:
    part = f" of {entry.part}" if entry.part else ""
    return f"{entry.target} {entry.quantity}{part}" if entry.target else ""
