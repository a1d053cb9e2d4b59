"""``symformer sensitivity``: what a quantity hangs on."""

from __future__ import annotations

import click

from . import arguments, completing, drawing
from .shell import Command
from .terminal import put_json, say, spell, table


@click.command("sensitivity", cls=Command)
@arguments.target
@arguments.quantity
@arguments.sets
@arguments.option
@drawing.output
@click.option(
    "--by", metavar="NAME", shell_complete=completing.size, help="Draw the quantity against this size, with -o."
)
@arguments.as_json
def command(
    target: str,
    quantity: str,
    sets: tuple[str, ...],
    options: tuple[str, ...],
    output: str | None,
    by: str | None,
    as_json: bool,
) -> None:
    """Say how a quantity changes with each of its sizes.

    Of each size: the partial derivative; the elasticity, by how many per cent the quantity grows as the size does by
    one; what one more costs, exactly; and what the quantity comes near to as that size alone grows without end. Drawn
    with -o are the elasticities, or with --by the quantity against one size.

    \b
    symformer sensitivity llama-2-7b
    symformer sensitivity llama-2-7b --by L -o layers.svg
    """
    from ..algebra.sensitivity import Sensitivity

    if by is not None and output is None:
        raise click.UsageError(f"--by {by} is the axis of a plot; name its file by -o, such as -o sensitivity.svg")
    drawing.check(output, as_json)
    found = Sensitivity(*arguments.formula(target, quantity, sets, options))
    if output is not None:
        drawing.put(output, lambda: found.plot(by=by or ""))
        return
    if as_json:
        put_json(found.to_json())
        return
    before, rows, below = found.lines(spell), found.rows(spell), found.below()
    say(f"{found.model.title} ({found.model.target}): {found.formula.measure.title}")
    for line in (*before, ""):
        say(line)
    if rows:
        table(found.head, rows, "lrlrlrl")
    else:
        say("it has no size")
    for line in ["", *below] if below else []:
        say(line)
