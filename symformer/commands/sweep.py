"""``symformer sweep``: a quantity evaluated at many configs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from . import arguments, completion_values, plot_output
from .base_command import Command
from .terminal import print_error, print_result, progress

if TYPE_CHECKING:
    from ..algebra.sweep import Sweep

FORMATS = ("csv", "parquet", "jsonl")


@click.command("sweep", cls=Command)
@arguments.target
@click.option(
    "--grid",
    "axes",
    multiple=True,
    metavar="NAME=START:STOP:STEP",
    shell_complete=completion_values.size,
    help="A size and its range, both ends included, or a list: E=512,768. The last size varies fastest.",
)
@click.option(
    "--from", "file", metavar="FILE", help="Read configs from FILE.csv, .parquet or .jsonl instead of --grid."
)
@arguments.quantities
@arguments.given
@arguments.where
@click.option(
    "--filter",
    "filters",
    multiple=True,
    metavar="CONDITION",
    help="Keep only rows that satisfy conditions on sizes and quantities, such as '64 divides E' or "
    "'inference-memory(C=32768, B=1) <= 80GB and decode-flops <= 2e10'.",
)
@arguments.per
@click.option("--pareto", metavar="COLUMN,COLUMN", help="Keep only Pareto-optimal rows: flops,max:params/kv-cache.")
@click.option("--limit", type=int, metavar="N", help="Keep only the first N rows, sorted by --sort-by.")
@click.option("--sort-by", metavar="COLUMN", help="The sort key for --limit, ascending; max:COLUMN for descending.")
@arguments.option
@click.option(
    "--output",
    "-o",
    metavar="FILE",
    shell_complete=completion_values.file,
    help=f"Write the rows: FILE.{', .'.join(FORMATS)}; or plot them: {plot_output.NAMES}.",
)
@arguments.as_json
def command(
    target: str,
    axes: tuple[str, ...],
    file: str | None,
    quantities: tuple[str, ...],
    given: tuple[str, ...],
    where: tuple[str, ...],
    filters: tuple[str, ...],
    per: str | None,
    pareto: str | None,
    limit: int | None,
    sort_by: str | None,
    options: tuple[str, ...],
    output: str | None,
    as_json: bool,
) -> None:
    """Evaluate a quantity at every config of a grid or a file.

    All numbers are exact. Configs that violate a condition of the formula, such as a width that is not divisible by the
    number of heads, are skipped, and their number is reported. If a size without a given value occurs only in
    conditions, `sweep` chooses a value that satisfies them and shows it in its own column.

    \b
    symformer sweep llama-2-7b --grid E=512:8192:128 --grid L=4:64:1 --filter 'params <= 7e9' --limit 5 \\
      --sort-by max:params
    symformer sweep gpt2 --grid E=768:6144:768 --grid L=12:96:12 -q params -q flops --set B=1 --set S=1024 -o a.csv
    """
    from ..algebra.grid import Axis, Grid
    from ..algebra.row_files import RowFile
    from ..algebra.sweep import sweep
    from ..language.parsing.quantity_text import separated

    if as_json and output is not None:
        raise click.UsageError("--json prints the rows and -o writes them; remove one of the two")
    if bool(axes) == (file is not None):
        both = (
            "--grid defines a grid and --from reads a file; remove one of the two"
            if axes
            else "no configs are given; define a grid with --grid, or read a file with --from"
        )
        raise click.UsageError(both)
    extension = ""
    if output is not None:
        from ..output.files import check_output

        extension = check_output(output, "a sweep", (*FORMATS, *plot_output.FORMATS))
    grid = Grid(tuple(map(Axis.read, axes))) if file is None else None
    objectives = separated(pareto, ",") if pareto is not None else []
    texts = [*filters, *([per] if per is not None else []), *objectives, *([sort_by] if sort_by is not None else [])]
    posed = arguments.parse_open_model(target, quantities, given, where, options, texts)
    found = sweep(
        posed.model,
        grid or RowFile.open(str(file), posed.model.settable),
        quantities,
        sizes=posed.given,
        relations=posed.where,
        filters=[*posed.conditions, *filters],
        per=per,
        pareto=objectives,
        limit=limit,
        sort_by=sort_by,
        **posed.conventions,
    )
    _put(found, output, extension, as_json)


def _put(found: Sweep, output: str | None, extension: str, as_json: bool) -> None:
    """Write the rows to a file, or print them as JSON or as a table."""
    if output is not None and extension in plot_output.FORMATS:
        plot_output.put(output, found.plot)
        return
    if output is not None:
        from ..documents.tables import write

        with progress(f"{found.rows.count:,} configs") as told:
            count = write(replace(found, progress=told), output, extension)
        for line in found.count_lines(count):
            print_error(line)
        print_error(f"wrote {output}")
        return
    with progress(f"{found.rows.count:,} configs") as told:
        found = replace(found, progress=told)
        _ = found.first_rows
    print_result(found, as_json)
