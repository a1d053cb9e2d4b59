"""``symformer papers``: published formulas against those derived here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from . import arguments, completing
from .shell import Command
from .terminal import put_json, say, spell, table

if TYPE_CHECKING:
    from ..algebra.printed import PrintedFormula
    from ..algebra.published import Published


@click.command("papers", cls=Command)
@click.argument("name", metavar="[ID]", required=False, shell_complete=completing.published)
@arguments.as_json
def command(name: str | None, as_json: bool) -> None:
    """Set published formulas against ours.

    Each is listed with what comes of holding it to the formula derived here, or with why nothing here answers for it.
    With its ID one alone is shown, as it is printed beside ours.

    \b
    symformer papers
    symformer papers kor_eq1
    """
    from ..algebra.printed import printed
    from ..algebra.published import published

    if name is not None:
        _one(name, as_json)
        return
    if as_json:
        put_json([*(entry.to_json() for entry in printed()), *map(_facts, published())])
        return
    rows = [[entry.id, f"{entry.whose}, {entry.where}", _of(entry), entry.says] for entry in printed()]
    table(["formula", "where", "held to", "verdict"], rows, "llll")
    say()
    say("Under the assumptions of each paper, in the letters used here:")
    say()
    rows = [[entry.id, entry.where, entry.about, spell(entry.difference), entry.because] for entry in published()]
    table(["formula", "where", "about", "ours less theirs", "because"], rows, "lllll")


def _one(name: str, as_json: bool) -> None:
    from ..algebra.printed import printed
    from ..algebra.published import published
    from ..language.errors import UnknownNameError
    from .check import show

    entry = next((each for each in printed() if each.id == name), None)
    if entry is None:
        rewritten = {each.id: each for each in published()}
        if name not in rewritten:
            raise UnknownNameError("published formula", name, [*(each.id for each in printed()), *rewritten])
        _rewritten(rewritten[name], as_json)
        return
    found = entry.check
    if as_json:
        put_json({**entry.to_json(), "check": found.to_json() if found else None})
        return
    say(f"{entry.whose}, {entry.where}" + (f"  {entry.url}" if entry.url else ""))
    say()
    say(f"printed     {entry.latex}")
    if entry.read:
        say(f"read as     {entry.read}")
    if entry.because or entry.without:
        say(f"because     {entry.because or entry.without}" if found else f"not asked   {entry.without}")
    if found is not None:
        say()
        show(found)


def _rewritten(entry: Published, as_json: bool) -> None:
    if as_json:
        put_json(_facts(entry))
        return
    say(f"{entry.source.short}, {entry.where}: {entry.about}")
    say()
    say(f"theirs      {spell(entry.theirs)}")
    say(f"ours        {spell(entry.derived)}")
    if entry.difference != 0:
        say(f"difference  {spell(entry.difference)}, ours less theirs")
        say(f"because     {entry.because}")


def _of(entry: PrintedFormula) -> str:
    part = f" of {entry.part}" if entry.part else ""
    return f"{entry.target} {entry.quantity}{part}" if entry.target else ""


def _facts(entry: Published) -> dict[str, Any]:
    from ..language.notation.text import code

    return {
        "id": entry.id,
        "paper": entry.paper,
        "where": entry.where,
        "about": entry.about,
        "formula": entry.formula,
        "ours": code(entry.derived),
        "difference": code(entry.difference),
        "because": entry.because,
    }
