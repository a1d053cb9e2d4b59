"""``symformer sensitivity``: how a quantity depends on each size."""

from __future__ import annotations

import click

from . import arguments, completion_values, plot_output
from .base_command import Command
from .terminal import print_result


@click.command("sensitivity", cls=Command)
@arguments.target
@arguments.quantity
@arguments.sets
@arguments.option
@plot_output.output
@click.option(
    "--x",
    "x",
    metavar="NAME",
    shell_complete=completion_values.size,
    help="Plot the quantity against this size; requires -o.",
)
@arguments.as_json
def command(
    target: str,
    quantity: str,
    sets: tuple[str, ...],
    options: tuple[str, ...],
    output: str | None,
    x: str | None,
    as_json: bool,
) -> None:
    """Show how a quantity changes with each of its sizes.

    For each size: the partial derivative; the elasticity, which is the growth of the quantity in percent when the size
    grows by 1%; the exact cost of increasing the size by 1; and the asymptote as that size alone tends to infinity.
    With -o, plot the elasticities, or with --x the quantity against one size.

    \b
    symformer sensitivity llama-2-7b
    symformer sensitivity llama-2-7b --x L -o layers.svg
    """
    from ..algebra.sensitivity import Sensitivity

    if x is not None and output is None:
        raise click.UsageError(f"--x {x} is the x-axis of a plot; name its file with -o, such as -o sensitivity.svg")
    plot_output.check(output, as_json)
    found = Sensitivity(*arguments.formula(target, quantity, sets, options))
    if output is not None:
        plot_output.put(output, lambda: found.plot(x=x or ""))
        return
    print_result(found, as_json)
