"""``symformer census``: every model type of transformers read off its code, for the catalogue."""

from __future__ import annotations

import click

from . import arguments, completing
from .shell import Command
from .terminal import progress, put_json, say


@click.command("census", cls=Command)
@click.argument("types", nargs=-1)
@click.option(
    "--output",
    "-o",
    default="catalogue",
    show_default=True,
    metavar="FOLDER",
    shell_complete=completing.file,
    help="Where to write a file for each class.",
)
@click.option(
    "--head",
    "heads",
    multiple=True,
    metavar="HEAD",
    help="causal, seq2seq, masked, image, image-text or base; repeat for more. "
    "[default: the first of these that a type has]",
)
@click.option("--workers", type=click.IntRange(1), metavar="N", help="Processes. [default: one for each core]")
@click.option(
    "--limit",
    type=click.IntRange(1),
    metavar="SECONDS",
    help="A class that takes longer is left out. [default: 1800]",
)
@click.option("--again", is_flag=True, help="Try the fields of classes on file again, and keep their formulas.")
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
    """Read every model type of transformers off its code.

    TYPES are model types such as gpt2; without any, all are read, which takes hours and runs the code of them all. Each
    class is held to torch at random configs, with every switch that changes it, and kept in a file of FOLDER; after
    Ctrl-C the same command goes on where it stopped, for a class that is there stays.
    """
    import os
    from pathlib import Path

    from ..output.files import check_folder
    from ..witness import torch_side

    filling = torch_side("filling")
    jobs = filling.pairs(list(dict.fromkeys(heads)), types)
    check_folder(output)
    folder = Path(output)
    filling.check(folder)
    with progress("read") as told:
        processes = workers or os.cpu_count() or 1
        found = list(
            filling.fill(jobs, folder, processes, limit or filling.LIMIT, lambda done: told(done, len(jobs)), again)
        )
    kept = [model_type for model_type, written in found if not written.filed.why]
    if as_json:
        left = {name: why for _, written in found for name, why in written.left.items()}
        refused = {model_type: written.filed.why for model_type, written in found if written.filed.why}
        put_json({"kept": kept, "refused": refused, "left": left})
        return
    for model_type, written in found:
        for name, why in written.left.items():
            say(f"{name}: {why}")
        if written.filed.why:
            say(f"{model_type}: {written.filed.why}")
    say(f"{len(kept)} of {len(found)} model types have a file in {output}")
