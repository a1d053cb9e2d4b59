"""``symformer papers``: published formulas against those derived here."""

from __future__ import annotations

import click

from . import arguments
from .shell import Command
from .terminal import put_json, spell, table


@click.command("papers", cls=Command)
@arguments.as_json
def command(as_json: bool) -> None:
    """Set published formulas against ours.

    Each is shown with its difference from the formula derived here, and with what explains it.
    """
    from ..algebra.published import published
    from ..language.notation.text import code

    entries = published()
    if as_json:
        facts = [
            {
                "id": entry.id,
                "paper": entry.paper,
                "where": entry.where,
                "about": entry.about,
                "formula": entry.formula,
                "ours": code(entry.derived),
                "difference": code(entry.difference),
                "because": entry.because,
            }
            for entry in entries
        ]
        put_json(facts)
        return
    rows = [[entry.id, entry.where, entry.about, spell(entry.difference), entry.because] for entry in entries]
    table(["formula", "where", "about", "ours less theirs", "because"], rows, "lllll")
