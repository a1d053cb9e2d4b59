"""``symformer explain``: identify what a published number counts."""

from __future__ import annotations

import sys

import click

from . import arguments, completion_values
from .base_command import Command
from .terminal import print_result


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
    from ..language.printed_number import printed
    from ..targets.resolution import pairs, resolve

    asked = printed(number)
    model, conventions = resolve(target, pairs(options), sets, [quantity] if quantity else [])
    found = explain(model, asked, quantity, **conventions)
    print_result(found, as_json)
    sys.exit(found.verdict == "unexplained")
