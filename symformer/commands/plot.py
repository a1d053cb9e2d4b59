"""``symformer plot``: a model as a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from . import arguments, completion_values
from .base_command import Command
from .terminal import print_bytes, print_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..formulas.formula import Formula
    from ..models.model import Model

FORMATS = ("svg", "pdf", "png", "tex")
TAKES = {
    "architecture": ("form", "theme"),
    "part": ("part", "form", "theme"),
    "memory": ("device",),
    "roofline": ("peak", "bandwidth"),
}  # options specific to one kind
USUAL = {"flops": "flops", "memory": "train-memory", "roofline": "intensity"}  # the default quantity of a kind
KINDS = ("architecture", "part", "shares", "flops", "memory", "roofline")


@click.command("plot", cls=Command)
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...", shell_complete=completion_values.target)
@click.option(
    "--output",
    "-o",
    required=True,
    metavar="FILE",
    shell_complete=completion_values.file,
    help=f"FILE.{', .'.join(FORMATS[:-1])} or .{FORMATS[-1]}; - for standard output.",
)
@click.option("--kind", type=click.Choice(KINDS), default="architecture", show_default=True, help="The kind of figure.")
@click.option("--part", metavar="PATH", help="The part to draw with --kind part, such as h.attn.")
@click.option(
    "--quantity",
    "-q",
    metavar="Q",
    shell_complete=completion_values.quantity,
    help="The quantity to count. [default: depends on --kind]",
)
@arguments.sets
@arguments.option
@click.option("--device", metavar="SIZE", help="Device memory, such as 80GB, for --kind memory.")
@click.option("--peak", metavar="SPEED", help="Peak compute of the device, such as 989TFLOPS, for --kind roofline.")
@click.option("--bandwidth", metavar="SPEED", help="Memory bandwidth, such as 3.35TB/s, for --kind roofline.")
@click.option(
    "--form",
    type=click.Choice(("column", "wide")),
    help="A column (the default), or a slide of 16:9 that also shows the inside of the main parts.",
)
@click.option("--theme", type=click.Choice(("light", "dark")), help="The colours of a figure. [default: light]")
@click.option("--format", "format_", type=click.Choice(FORMATS), help="The output format if -o is -.")
def command(
    targets: tuple[str, ...],
    output: str,
    kind: str,
    part: str | None,
    quantity: str | None,
    sets: tuple[str, ...],
    options: tuple[str, ...],
    device: str | None,
    peak: str | None,
    bandwidth: str | None,
    form: str | None,
    theme: str | None,
    format_: str | None,
) -> None:
    """Draw models, or plot cost against size.

    The figures (--kind architecture and part) show one model, two side by side, or up to four in narrow columns, with
    the differences from the first marked. The plots (--kind shares, flops, memory and roofline) require matplotlib.
    `symformer --help` lists the forms of a TARGET.
    """
    from ..language.errors import OptionError
    from ..output.files import check_output, write

    extension = check_output(output, "a figure", FORMATS, format_ or "")
    given = {"part": part, "device": device, "peak": peak, "bandwidth": bandwidth, "form": form, "theme": theme}
    for name, value in given.items():
        if value is not None and name not in TAKES.get(kind, ()):
            whose = next(each for each, names in TAKES.items() if name in names)
            raise OptionError(f"--{name} has no effect with --kind {kind}; add --kind {whose}, or remove --{name}")
    if kind == "part" and part is None:
        raise OptionError("--kind part requires --part, such as --part h.attn; `symformer tree` lists the parts")
    counts = quantity or USUAL.get(kind, "params")
    if kind == "roofline" and quantity not in (None, "intensity"):
        raise OptionError(f"a roofline plots intensity, not {quantity}; remove -q")
    if kind == "roofline":
        content = _roofline(targets, sets, options, extension, peak, bandwidth)
    else:
        models = [arguments.formula(target, counts, sets, options) for target in targets]
        content = _drawn(kind, models, extension, part, device, form == "wide", theme == "dark")
    if output == "-":
        print_bytes(content)
        return
    write(output, content)
    print_error(f"wrote {output}")


def _drawn(
    kind: str,
    models: Sequence[tuple[Model, Formula]],
    extension: str,
    part: str | None,
    device: str | None,
    wide: bool,
    on_dark: bool,
) -> bytes:
    if kind == "shares":
        from ..views.plots.shares_plot import models_of, shares

        _, formula = models[0]
        return shares(models_of(models, formula.measure.name, dict(formula.conventions)), extension)
    if kind == "flops":
        from ..views.plots.flops_plot import flops

        return flops(models, extension)
    if kind == "memory":
        from ..views.plots.memory_plot import memory

        return memory(models, extension, device)
    from ..documents.figures.architecture import architecture_figure
    from ..documents.figures.dark_theme import dark
    from ..documents.figures.drawing_files import emit

    drawing = architecture_figure(models, part, wide)
    return emit(dark(drawing) if on_dark else drawing, extension)


def _roofline(
    targets: tuple[str, ...],
    sets: tuple[str, ...],
    options: tuple[str, ...],
    extension: str,
    peak: str | None,
    bandwidth: str | None,
) -> bytes:
    from ..targets.resolution import pairs, resolve
    from ..views.plots.roofline_plot import roofline

    found = [resolve(target, pairs(options), sets, ["intensity"]) for target in targets]
    return roofline([model for model, _ in found], found[0][1], extension, peak, bandwidth)
