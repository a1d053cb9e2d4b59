"""``symformer explain``: identify what a published number counts."""

from __future__ import annotations

import sys

import click

from . import arguments, completion_values
from .base_command import Command
from .terminal import print_result, progress


@click.command("explain", cls=Command)
@arguments.target
@click.argument("number", required=False)
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
    target: str,
    number: str | None,
    quantity: str | None,
    sets: tuple[str, ...],
    options: tuple[str, ...],
    as_json: bool,
) -> None:
    """Identify what a published number counts.

    Write NUMBER as published: 124M, 163,037,184, "37B active", "17.6 GMACs", "13.5 GB". It can also be the size
    of a file or a line from a log of vLLM or llama.cpp. Words next to the number decide what it counts: "6.53B
    non-embedding", "320 KB per token", "15.62 GB for 128k tokens", "Q4_K_M 4.08 GB", "2,800 PF-days". At most five
    explanations are printed, the most plausible first. The exit status is 1 if no known count matches.

    If TARGET is the LaTeX source of a paper and NUMBER is missing, explain the numbers of the models that the paper
    names.

    \b
    symformer explain gpt2 117M
    symformer explain llama-2-70b 78B
    symformer explain deepseek-v3 "37B active"
    symformer explain llama-3-70b "320 KB per token"
    symformer explain llama-2-70b "8.4e23 FLOPs"
    symformer explain llama-3.1-8b 'GPU KV cache size: 131,072 tokens'
    symformer explain paper.tex
    """
    if number is None:
        _explain_paper(target, as_json)
        return
    from ..algebra.explain import explain
    from ..algebra.log_lines import log_line
    from ..language.printed_number import PrintedNumber, printed
    from ..targets.resolution import pairs, resolve

    line = log_line(number)
    asked: PrintedNumber | str = printed(number) if line is None else number
    counted = quantity or (line.quantity if line is not None else None)
    model, conventions = resolve(target, pairs(options), sets, [counted] if counted else [])
    found = explain(model, asked, quantity, **conventions)
    print_result(found, as_json)
    sys.exit(found.verdict == "unexplained")


def _explain_paper(path: str, as_json: bool) -> None:
    """Explain the numbers of a paper."""
    from ..algebra.paper_check import explain_paper
    from ..documents.manuscript import sources

    if not path.endswith(".tex"):
        raise click.UsageError(f"NUMBER is missing; give one, as in `symformer explain {path} 7B`")
    with progress("numbers") as told:
        found = explain_paper(sources(path), path, told)
    print_result(found, as_json)
