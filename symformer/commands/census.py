"""``symformer census``: every model type of transformers, traced."""

from __future__ import annotations

import click

from . import arguments, completing
from .shell import Command
from .terminal import progress, put_json, say, tell


@click.command("census", cls=Command)
@click.argument("types", nargs=-1)
@click.option(
    "--output",
    "-o",
    default="census.md",
    show_default=True,
    metavar="FILE.md",
    shell_complete=completing.file,
    help="The page to write.",
)
@click.option(
    "--head",
    "heads",
    multiple=True,
    metavar="HEAD",
    help="causal, masked, seq2seq, image or base; repeat for more. [default: causal, masked, seq2seq]",
)
@arguments.quantity
@click.option("--lifts", is_flag=True, help="Also read each trace as operations, and hold these to torch.")
@click.option("--workers", type=click.IntRange(1), metavar="N", help="Processes. [default: one for each core]")
@click.option(
    "--limit",
    type=click.IntRange(1),
    metavar="SECONDS",
    help="A trace that takes longer is ended, and counts as one that failed. [default: 90; 600 for what a run tells]",
)
@click.option(
    "--catalogue",
    metavar="FOLDER",
    help="Write each class into a folder of the catalogue instead, with every switch that changes it.",
)
@arguments.as_json
def command(
    types: tuple[str, ...],
    output: str,
    heads: tuple[str, ...],
    quantity: str,
    lifts: bool,
    workers: int | None,
    limit: int | None,
    catalogue: str | None,
    as_json: bool,
) -> None:
    """Trace every model type of transformers.

    TYPES are model types such as gpt2; without any, all are traced, which takes minutes and runs the code of them all.
    The page has every formula, and every model that has none with the reason. Results are kept beside it in FILE.jsonl
    until all are there: after Ctrl-C the same command goes on where it stopped.
    """
    import os
    from pathlib import Path

    from ..documents.census import page
    from ..documents.files import check_folder, check_output, write
    from ..language.errors import OptionError
    from ..witness import torch_side

    made_by = torch_side("census")
    if catalogue is not None:
        jobs = made_by.pairs(list(dict.fromkeys(heads)), types)
        check_folder(catalogue)
        with progress("traced", len(jobs)) as advance:
            filling, folder = torch_side("filling"), Path(catalogue)
            left = filling.fill(jobs, folder, workers or os.cpu_count() or 1, limit or filling.LIMIT, advance)
        if as_json:
            put_json({"left": left})
            return
        for name, why in left.items():
            say(f"{name}: {why}")
        return
    check_output(output, "a census", ["md"])
    if lifts and quantity == "params":
        raise OptionError("--lifts reads what a run multiplies; ask for it with -q flops")
    torch_side("runs").answerable(quantity)
    jobs = made_by.pairs(list(dict.fromkeys(heads)) or made_by.USUAL_HEADS, types)
    log = Path(output).with_suffix(".jsonl")
    seconds = limit or made_by.LIMITS.get(quantity, made_by.LIMIT)
    with progress("traced", len(jobs)) as advance:
        found = made_by.census(
            jobs, workers or os.cpu_count() or 1, seconds, log, advance, quantity=quantity, lifts=lifts
        )
    write(output, page(found).encode())
    tell(f"wrote {output}")
    if as_json:
        put_json(found.to_json())
        return
    say(
        f"{len(found.entries)} models: {len(found.built)} {found.does}, {len(found.traced)} have an exact formula, and "
        f"in {len(found.whole)} of them every usual size is a symbol; {found.share:.1f} % of those that {found.does}"
    )
    say(f"a trace takes {found.ratio:.1f} times as long as building the model once (median)")
