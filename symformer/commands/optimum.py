"""``symformer optimum``: the model and the tokens that use a budget of FLOPs best."""

from __future__ import annotations

from pathlib import Path

import click

from . import arguments, completion_values, document_output, plot_output
from .base_command import Command
from .terminal import print_blocks, print_json, print_result, progress

DOCUMENTS = (".pdf", ".html", ".md", ".tex", ".typ")


@click.command("optimum", cls=Command)
@click.argument("target", required=False, shell_complete=completion_values.target)
@click.option(
    "--law",
    default="hoffmann2022",
    metavar="LAW",
    show_default=True,
    shell_complete=completion_values.law,
    help="The scaling law; see --laws.",
)
@click.option("--laws", is_flag=True, help="List the scaling laws.")
@click.option("--budget", metavar="FLOPS", help="The FLOPs of training and inference, such as 1e21.")
@click.option(
    "--loss", type=float, metavar="LOSS", help="The loss to reach with the fewest FLOPs, instead of a budget."
)
@click.option(
    "--inference-tokens", metavar="N", help="The number of inference tokens. Their FLOPs are part of the budget."
)
@click.option(
    "--unique-tokens", metavar="N", help="The number of unique tokens in the data, for a law of repeated data."
)
@click.option("--memory", metavar="N", help="The memory of the device that holds the model, such as 80GiB.")
@click.option(
    "--aspect",
    metavar="LOW:HIGH",
    help="The range of the width divided by the number of layers. [default: half to twice TARGET's]",
)
@click.option(
    "--multiple",
    type=click.IntRange(1),
    metavar="N",
    default=128,
    show_default=True,
    help="Every width is a multiple of this number.",
)
@click.option(
    "--limit",
    type=click.IntRange(1, 1000),
    metavar="N",
    default=10,
    show_default=True,
    help="The number of configs to show.",
)
@click.option(
    "--pareto",
    metavar="Q",
    shell_complete=completion_values.quantity,
    help="Also show the Pareto front of the loss and this quantity, such as kv-cache.",
)
@click.option(
    "--device",
    metavar="DEVICE",
    shell_complete=completion_values.device,
    help="The device for a time in --pareto, such as h100-80gb, or a bandwidth and a peak.",
)
@click.option("--curve", metavar="KIND", help="Print curves, or plot them with -o: iso-flop, iso-loss or iso-memory.")
@arguments.given
@arguments.where
@arguments.option
@click.option(
    "--output",
    "-o",
    metavar="FILE",
    shell_complete=completion_values.file,
    help="Plot the result: FILE.svg or .png; or write a document: FILE.pdf, .html, .md, .tex or .typ.",
)
@arguments.as_json
def command(
    target: str | None,
    law: str,
    laws: bool,
    budget: str | None,
    loss: float | None,
    inference_tokens: str | None,
    unique_tokens: str | None,
    memory: str | None,
    aspect: str | None,
    multiple: int,
    limit: int,
    pareto: str | None,
    device: str | None,
    curve: str | None,
    given: tuple[str, ...],
    where: tuple[str, ...],
    options: tuple[str, ...],
    output: str | None,
    as_json: bool,
) -> None:
    """Find the model and the number of tokens that use a budget of FLOPs best under a scaling law.

    Without TARGET, only the optimum of the law is printed, in closed form where there is one. With TARGET, its depth
    and width are searched, with exactly counted FLOPs instead of 6*N per token; heads and inner widths follow the
    width. The output also shows the config that 6*N*N_tok would choose, and the config of TARGET itself. Losses are
    fitted: they are only as accurate as the law.

    \b
    symformer optimum --law besiroglu2024 --budget 5.76e23
    symformer optimum llama-2-7b --law besiroglu2024 --budget 1e22 --inference-tokens 1e12 --memory 16GB
    symformer optimum gpt2 --law muennighoff2023 --budget 1e20 --unique-tokens 1e9 --set V=32000
    """
    from ..scaling.optimum import optimum

    if laws:
        from ..scaling.law_list import law_blocks, laws_json

        if as_json:
            print_json(laws_json())
        else:
            print_blocks(law_blocks())
        return
    document = output is not None and Path(output).suffix.lower() in DOCUMENTS
    if document and output is not None:
        from ..documents.formats import FORMATS
        from ..output.files import check_output

        if as_json:
            raise click.UsageError("--json and -o with a document cannot be combined; remove one of the two")
        check_output(output, "a document", FORMATS)
    else:
        plot_output.check(output, as_json)
    conventions: dict[str, str] = {}
    model, sizes, relations = None, None, None
    if target is not None:
        from ..scaling.optimum import SEARCHED

        quantities = [*SEARCHED, *(["inference-memory"] if memory else []), *([pareto] if pareto else [])]
        posed = arguments.parse_open_model(target, quantities, given, where, options)
        model, conventions, sizes, relations = posed.model, posed.conventions, posed.given, posed.where
    elif given or where or options or pareto or device or aspect:
        raise click.UsageError(
            "--set, --where, --option, --pareto, --device and --aspect need a TARGET, such as llama-2-7b"
        )
    with progress("configs") as told:
        found = optimum(
            model,
            law=law,
            budget=budget,
            loss=loss,
            inference_tokens=inference_tokens,
            unique_tokens=unique_tokens,
            memory=memory,
            sizes=sizes,
            relations=relations,
            aspect=_aspect(aspect),
            multiple=multiple,
            limit=limit,
            pareto=pareto,
            device=device,
            progress=told,
            **conventions,
        )
    if document and output is not None:
        from .. import __version__
        from ..documents.formats import render
        from ..documents.optimum_document import document as written

        extension = Path(output).suffix.lower().removeprefix(".")
        document_output.put(output, render(written(found, __version__), extension))
    elif output is not None:
        plot_output.put(output, lambda: found.plot(by=curve or ""))
    elif curve is not None:
        found.curves(curve)  # raises OptionError before anything is printed
        if as_json:
            print_json(found.to_json() | {"curves": [each.to_json() for each in found.curves(curve)]})
        else:
            print_blocks([*found.to_blocks(), *found.curve_blocks(curve)])
    else:
        print_result(found, as_json)


def _aspect(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    low, _, high = text.partition(":")
    try:
        return float(low), float(high)
    except ValueError:
        raise click.UsageError(f"--aspect {text} is not a range; write LOW:HIGH, such as 32:128") from None
