"""``symformer solve``: the sizes that give a total."""

from __future__ import annotations

from dataclasses import replace

import click

from . import arguments, completion_values, plot_output
from .base_command import Command
from .terminal import print_result, progress

NONE = 1  # the exit status if there is no solution


@click.command("solve", cls=Command)
@arguments.target
@click.option(
    "--total", metavar="N", help="The target value: 7e9, 80GB, 50%, or an expression over quantities: '20*params'."
)
@click.option("--at-most", metavar="N", help="The upper limit for the value; the first size is maximized within it.")
@click.option("--share", metavar="SHARE", help="The share of --at-most that may be used, such as 90%.")
@click.option("--reserve", metavar="N", help="The amount within that share to keep free, such as 2GiB.")
@click.option("--tolerance", metavar="SHARE", help="The tolerance around the total, such as 1%.")
@click.option(
    "--find",
    "unknowns",
    multiple=True,
    required=True,
    metavar="NAME",
    shell_complete=completion_values.size,
    help="A size to solve for: L, or E=512:8192:128 for a range that includes both ends.",
)
@click.option(
    "--filter",
    "filters",
    multiple=True,
    metavar="CONDITION",
    help="Keep only solutions that satisfy conditions on sizes and quantities, such as "
    "'inference-memory(C=32768, B=1) <= 80GB and decode-flops <= 2e10'.",
)
@arguments.quantity
@arguments.per
@arguments.given
@arguments.where
@arguments.option
@plot_output.output
@arguments.as_json
def command(
    target: str,
    total: str | None,
    at_most: str | None,
    share: str | None,
    reserve: str | None,
    tolerance: str | None,
    unknowns: tuple[str, ...],
    filters: tuple[str, ...],
    quantity: str,
    per: str | None,
    given: tuple[str, ...],
    where: tuple[str, ...],
    options: tuple[str, ...],
    output: str | None,
    as_json: bool,
) -> int:
    """Find all integer sizes that give a total, stay within a limit, or satisfy conditions.

    Practical solutions come first: head counts that divide the width, and widths that are multiples of 128 or 64. If
    there is no solution, the nearest one is printed and the exit status is 1. If a size without a given value occurs
    only in conditions, `solve` chooses a value that satisfies them and shows it in its own column.

    \b
    symformer solve llama --total 7e9 --tolerance 1% --find L --find E=2048:8192:128 --set V=32000 --set D=128 \\
      --where 'A = E/128' --where 'G = A' --where 'H = 4*E'
    symformer solve llama-2-7b -q inference-memory --at-most 80GB --share 90% --find C --set B=8
    symformer solve gpt2 -q attention-share --total 50% --find S=1:65536:1 --set P=65536
    symformer solve llama-2-7b --total 7e9 --tolerance 5% --find L --find E=2048:8192:128 --set H=11008 \\
      --filter 'kv-cache(C=32768, B=1) <= 16GB'
    """
    from ..algebra.solve import solve

    plot_output.check(output, as_json)
    texts = [*filters, *(each for each in (total, at_most, per, reserve) if each is not None)]
    posed = arguments.parse_open_model(target, [quantity], given, where, options, texts)
    found = solve(
        posed.model,
        total,
        unknowns=unknowns,
        at_most=at_most,
        tolerance=tolerance,
        share=share,
        reserve=reserve,
        quantity=quantity,
        sizes=posed.given,
        relations=posed.where,
        filters=[*posed.conditions, *filters],
        per=per,
        **posed.conventions,
    )
    with progress("combinations") as told:
        found = replace(found, progress=told)
        _ = found.all, found.nearest
    if output is not None:
        plot_output.put(output, found.plot)
    else:
        print_result(found, as_json)
    return 0 if found.all else NONE
