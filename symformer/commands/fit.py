"""``symformer fit``: what fits on given devices."""

from __future__ import annotations

from pathlib import Path

import click

from . import arguments, completion_values, device_options, document_output, plot_output
from .base_command import Command
from .terminal import print_result, progress

DOCUMENTS = (".html", ".md", ".tex", ".typ")
NONE = 1  # the exit status if no format fits


@click.command("fit", cls=Command)
@arguments.target
@click.option(
    "--gpus", "devices", type=click.IntRange(1, 4096), default=1, show_default=True, help="The number of devices."
)
@device_options.memory
@click.option(
    "--context",
    type=click.IntRange(1),
    default=8192,
    show_default=True,
    help="The context length, in tokens, for which to find the largest batch.",
)
@click.option(
    "--batch",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="The batch size for which to find the longest context.",
)
@click.option("--weights", multiple=True, metavar="FORMAT", help="A weight format, such as awq; repeatable.")
@arguments.sets
@arguments.option
@click.option(
    "--output",
    "-o",
    metavar="FILE",
    shell_complete=completion_values.file,
    help=f"Plot the result: {plot_output.NAMES}; or write a document: FILE.html, .md, .tex or .typ.",
)
@arguments.as_json
def command(
    target: str,
    devices: int,
    memory: str | None,
    gpu: str | None,
    share: str | None,
    reserve: str | None,
    context: int,
    batch: int,
    weights: tuple[str, ...],
    sets: tuple[str, ...],
    options: tuple[str, ...],
    output: str | None,
    as_json: bool,
) -> int:
    """Show which weight formats fit on devices, with the longest context and the largest batch.

    For each format, fit uses the first layout that fits, starting with the most tensor-parallel ranks; pipeline stages
    use the remaining devices. GGUF formats are divided by layers, as in llama.cpp. It counts the weights, the cache and
    the logits on the fullest device. Engines also need memory for activations and their own buffers; leave room with
    --share or --reserve. If no format fits, the exit status is 1.

    \b
    symformer fit llama-3.3-70b-instruct --gpus 2 --memory 80GiB --share 90%
    symformer fit llama-3.3-70b-instruct --gpus 2 --gpu h100-80gb
    symformer fit llama-3-8b --memory 24GiB --weights awq --weights gguf:q4_k_m --option cache=fp8
    """
    from ..algebra.fit import check_conventions, fit
    from ..documents.formats import FORMATS
    from ..output.files import check_output
    from ..targets.resolution import pairs, resolve

    if output is not None and Path(output).suffix.lower() in DOCUMENTS:
        if as_json:
            raise click.UsageError("--json and -o with a document cannot be combined; remove one of the two")
        check_output(output, "a document", FORMATS)
    else:
        if output is not None and Path(output).suffix.lower() not in (".svg", ".pdf", ".png"):
            raise click.UsageError(
                f"{output} is not a plot or a document; write FILE.svg, .pdf or .png, or FILE.html, .md, .tex or .typ"
            )
        plot_output.check(output, as_json)
    capacity = device_options.capacity(memory, gpu)
    given = pairs(options)
    check_conventions(given)
    # without the sizes that only the format of a config has, such as its elements per group
    model, conventions = resolve(target, {**given, "weights": "bf16"}, sets, ["inference-memory"])
    del conventions["weights"]
    with progress("formats") as told:
        found = fit(
            model,
            devices=devices,
            memory=capacity,
            share=share,
            reserve=reserve,
            context=context,
            batch=batch,
            weights=weights,
            progress=told,
            **conventions,
        )
    if output is not None and Path(output).suffix.lower() in DOCUMENTS:
        from .. import __version__
        from ..documents.fit_document import document
        from ..documents.formats import render

        content = render(document(found, __version__), Path(output).suffix.lower().removeprefix("."))
        document_output.put(output, content)
    elif output is not None:
        plot_output.put(output, found.plot)
    else:
        print_result(found, as_json)
    return 0 if found.best is not None else NONE
