"""``symformer census``: trace every model type of transformers for the catalogue."""

from __future__ import annotations

import click

from . import arguments, completion_values
from .base_command import Command
from .terminal import print_json, print_line, progress


@click.command("census", cls=Command)
@click.argument("types", nargs=-1)
@click.option(
    "--output",
    "-o",
    default="catalogue",
    show_default=True,
    metavar="FOLDER",
    shell_complete=completion_values.file,
    help="The folder for the files, one per class.",
)
@click.option(
    "--head",
    "heads",
    multiple=True,
    metavar="HEAD",
    help="The model head: causal, seq2seq, masked, image, image-text or base; repeatable. "
    "[default: the first of these that a type has]",
)
@click.option("--workers", type=click.IntRange(1), metavar="N", help="The number of processes. [default: one per core]")
@click.option(
    "--limit",
    type=click.IntRange(1),
    metavar="SECONDS",
    help="Skip classes that take longer. [default: 1800]",
)
@click.option("--again", is_flag=True, help="Test the config fields of stored classes again, keeping their formulas.")
@arguments.as_json
def command(
    types: tuple[str, ...],
    output: str,
    heads: tuple[str, ...],
    workers: int | None,
    limit: int | None,
    again: bool,
    as_json: bool,
) -> None:
    """Trace every model type of transformers.

    TYPES are model types such as gpt2. Without TYPES, all of them are traced, which takes hours. Tracing runs the code
    of a class. Each class is checked against torch at random configs, with every switch that changes it, and stored in
    FOLDER. After Ctrl-C, run the same command again to resume: classes that have a file are skipped.
    """
    import os
    from pathlib import Path

    from ..output.files import check_folder
    from ..witness import torch_side

    writer = torch_side("catalogue_writer")
    jobs = writer.pairs(list(dict.fromkeys(heads)), types)
    check_folder(output)
    folder = Path(output)
    writer.check(folder)
    with progress("traced") as told:
        processes = workers or os.cpu_count() or 1
        found = list(
            writer.write_catalogue(
                jobs, folder, processes, limit or writer.LIMIT, lambda done: told(done, len(jobs)), again
            )
        )
    kept = [model_type for model_type, written in found if not written.filed.why]
    if as_json:
        left = {name: why for _, written in found for name, why in written.left.items()}
        refused = {model_type: written.filed.why for model_type, written in found if written.filed.why}
        print_json({"kept": kept, "refused": refused, "left": left})
        return
    for model_type, written in found:
        for name, why in written.left.items():
            print_line(f"{name}: {why}")
        if written.filed.why:
            print_line(f"{model_type}: {written.filed.why}")
    print_line(f"{len(kept)} of {len(found)} model types have a file in {output}")
