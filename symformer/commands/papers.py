"""``symformer papers``: published formulas and numbers, compared with ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from . import arguments, completion_values
from .base_command import Command
from .terminal import print_blocks, print_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..algebra.formula_claims import PrintedFormula
    from ..algebra.number_claims import PublishedNumber
    from ..algebra.publications import Publication
    from ..output.blocks import BriefBlock


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
    claims = {each.id: each for one in found.values() for each in one.entries}
    if name is not None and name not in found and name not in claims:
        raise UnknownNameError("paper, published formula or number", name, [*found, *claims])
    if as_json and name in claims:
        print_json(_claim_json(claims[name]))
    elif as_json:
        sources = found.values() if name is None else [found[name]]
        print_json([each.to_json() for one in sources for each in one.entries])
    elif name is None:
        print_blocks(_sources(list(found.values())))
    else:
        print_blocks((claims.get(name) or found[name]).to_blocks())


def _sources(found: Sequence[Publication]) -> list[BriefBlock]:
    """Return the table of all sources, with the numbers of their formulas, numbers and corrections."""
    from ..output.blocks import Paragraph, Table

    counts = [(len(each.formulas), len(each.numbers), each.amiss) for each in found]
    rows = [[one.id, one.title, *(str(count or "") for count in each)] for one, each in zip(found, counts, strict=True)]
    rows.append(["total", "", *(str(sum(each)) for each in zip(*counts, strict=True))])
    head = ["id", "source", "formulas", "numbers", "corrections"]
    note = "symformer papers ID shows one source; the last column counts the entries that contain an error."
    return [Table.of(head, rows, "llrrr", total=True), Paragraph([note])]


def _claim_json(entry: PrintedFormula | PublishedNumber) -> dict[str, Any]:
    """Return a published formula with its check, or a published number with its explanation."""
    from ..algebra.formula_claims import PrintedFormula

    if isinstance(entry, PrintedFormula):
        return {**entry.to_json(), "check": entry.check.to_json() if entry.check else None}
    return {**entry.to_json(), "explanation": entry.explanation.to_json() if entry.explanation else None}
