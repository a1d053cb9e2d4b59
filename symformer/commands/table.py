"""``symformer table``: sizes and quantities of models as one table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .. import __version__
from ..documents.formats import TABLES
from . import arguments, completion_values
from .base_command import Command
from .terminal import print_bytes, print_error, print_result

if TYPE_CHECKING:
    from ..documents.model_table import ModelTable


@click.command("table", cls=Command)
@click.argument("targets", metavar="TARGET...", nargs=-1, required=True, shell_complete=completion_values.target)
@arguments.quantities
@click.option(
    "--per",
    type=click.Choice(["token"]),
    help="Divide costs by their number of tokens: FLOPs by B*S, the KV cache by B*C, decode FLOPs by B.",
)
@click.option(
    "--size",
    "columns",
    multiple=True,
    metavar="NAME",
    shell_complete=completion_values.size,
    help="Add a column with a size, such as L; repeatable.",
)
@click.option("--sizes", "every", is_flag=True, help="Add a column for each size that at least two of the models have.")
@click.option(
    "--set",
    "sets",
    multiple=True,
    metavar="[N:]NAME=VALUE",
    help="Set a size, such as S=1024, in every model that has it; 2:L=4 sets it in the second model only.",
)
@arguments.numbered_options
@click.option("--exact", is_flag=True, help="Print exact values instead of 3 or 4 significant digits.")
@click.option(
    "--output",
    "-o",
    metavar="FILE",
    shell_complete=completion_values.file,
    help=f"Write FILE.{', .'.join(TABLES)}; - for standard output.",
)
@click.option("--format", "form", type=click.Choice(TABLES), help="The output format if -o is -.")
@arguments.as_json
def command(
    targets: tuple[str, ...],
    quantities: tuple[str, ...],
    per: str | None,
    columns: tuple[str, ...],
    every: bool,
    sets: tuple[str, ...],
    options: tuple[str, ...],
    exact: bool,
    output: str | None,
    form: str | None,
    as_json: bool,
) -> None:
    """Print sizes and quantities of models as one table.

    The notes below the table state the conventions, and the reason for each value that does not exist. The .tex file is
    a float for \\input into a paper, with booktabs; it fits the pages of the ACM, IEEE, NeurIPS and ACL. Files in .csv
    have exact values.

    \b
    symformer table gpt2 llama-3-8b deepseek-v3 -q params -q active-params --sizes
    symformer table gpt2 llama-3-8b -q flops -q kv-cache --per token --set S=1024 --set C=1024 -o table.tex
    """
    from ..documents.model_table import EVERY, ModelTable
    from ..output.files import check_output
    from ..targets.side_by_side import SideBySideTargets

    if every and columns:
        raise click.UsageError("--sizes selects the columns of sizes itself; remove it or --size")
    if as_json and output is not None:
        raise click.UsageError("--json prints the table and -o writes it; remove one of the two")
    if form is not None and output is None:
        raise click.UsageError("--format applies to files; give one with -o, or - for standard output")
    extension = "" if output is None else check_output(output, "a table", TABLES, form or "")
    asked = tuple(dict.fromkeys(quantities))
    models, conventions = SideBySideTargets.of(targets, asked, sets, options, skip_refused=True).models()
    found = ModelTable.of(models, asked, conventions, EVERY if every else columns, per is not None, exact)
    if output is None:
        print_result(found, as_json)
        return
    write_table(found, output, extension)


def write_table(found: ModelTable, output: str, extension: str) -> None:
    """Write a table to a file, or to standard output for "-"."""
    from ..documents.table_files import table_file
    from ..output.files import write

    content = table_file(found, extension, __version__)
    if output == "-":
        print_bytes(content)
        return
    write(output, content)
    print_error(f"wrote {output}")
