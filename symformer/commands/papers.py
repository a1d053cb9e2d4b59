"""``symformer papers``: published formulas against those derived here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from . import arguments, completing
from .shell import Command
from .terminal import put_json, say, table

if TYPE_CHECKING:
    from ..algebra.printed import PrintedFormula


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

    if name is not None:
        _one(name, as_json)
        return
    if as_json:
        put_json([entry.to_json() for entry in printed()])
        return
    rows = [[entry.id, f"{entry.whose}, {entry.where}", _of(entry), entry.says] for entry in printed()]
    table(["formula", "where", "held to", "verdict"], rows, "llll")


def _one(name: str, as_json: bool) -> None:
    from ..algebra.printed import printed
    from ..language.errors import UnknownNameError
    from .check import show

    entry = next((each for each in printed() if each.id == name), None)
    if entry is None:
        raise UnknownNameError("published formula", name, [each.id for each in printed()])
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


def _of(entry: PrintedFormula) -> str:
    part = f" of {entry.part}" if entry.part else ""
    return f"{entry.target} {entry.quantity}{part}" if entry.target else ""
