"""``symformer explain``: identify what a published number counts."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from . import arguments, completion_values
from .base_command import Command
from .terminal import print_json, print_line, spell, table

SHOWN = 2  # at most this many rows are named in one line


@click.command("explain", cls=Command)
@arguments.target
@click.argument("number")
@click.option(
    "--quantity",
    "-q",
    metavar="Q",
    shell_complete=completion_values.quantity,
    help="The quantity counted; see `symformer list`. [default: inferred from the unit, else parameters]",
)
@arguments.sets
@arguments.option
@arguments.as_json
def command(
    target: str, number: str, quantity: str | None, sets: tuple[str, ...], options: tuple[str, ...], as_json: bool
) -> None:
    """Identify what a published number counts.

    Write NUMBER as published: 124M, 163,037,184, "37B active", "17.6 GMACs", "13.5 GB". The exit status is 1 if no
    known count matches.

    \b
    symformer explain gpt2 117M
    symformer explain llama-2-70b 78B
    symformer explain deepseek-v3 "37B active"
    """
    from ..algebra.explain import explain
    from ..language.notation.text import number as spelt
    from ..language.printed_number import printed
    from ..targets.resolution import pairs, resolve

    asked = printed(number)
    model, conventions = resolve(target, pairs(options), sets, [quantity] if quantity else [])
    found = explain(model, asked, quantity, **conventions)
    if as_json:
        print_json(found.to_json())
    else:
        print_line(found.because)
        for line in found.alternatives:
            print_line(f"or {line}")
        for line in found.of_ranks(spell):
            print_line(line)
        if found.verdict == "convention":
            print_line()
            rows = [["symformer's count", "", spelt(found.plain.value)]]
            rows += [[what, _some(paths), spelt(each)] for what, paths, each in found.rows]
            table(["", "rows", found.reading.way.unit], rows, "llr")
            lines = [f"{name}: {meaning}" for name, meaning in found.meanings.items()]
            if found.change is not None and found.change != 0:
                lines.append(f"difference  {spell(found.change)} = {spelt(found.difference)}")
            for line in ["", *lines] if lines else []:
                print_line(line)
    sys.exit(found.verdict == "unexplained")


def _some(paths: Sequence[str]) -> str:
    """Return the first row names and the number of further ones."""
    more = f", and {len(paths) - SHOWN} more" if len(paths) > SHOWN else ""
    return ", ".join(paths[:SHOWN]) + more
