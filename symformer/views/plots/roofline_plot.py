"""Roofline plot: the attainable speed of a device at each arithmetic intensity, with the runs of some models."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from ...language.errors import OptionError, SizeError
from ...models.model import Model
from ...output.base_plot import MARGIN, write_below
from ...output.style import INKS, MARKS, MOST, grid, literal, plot_bytes
from .memory_plot import amount
from .rank_caption import of_one_rank

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PHASES = ("prefill", "decode")


def intensities(model: Model, conventions: dict[str, str]) -> dict[str, Fraction]:
    """Return the exact intensity of each phase for which all sizes are known. Raises SizeError if there is none."""
    found, missing = {}, {}
    for phase in [conventions["phase"]] if "phase" in conventions else PHASES:
        formula = model.formula("intensity", **{**conventions, "phase": phase})
        lacking = [str(each) for each in formula.symbols if each not in model.known]
        if lacking:
            missing[phase] = lacking
        else:
            found[phase] = Fraction(formula.value())
    if not found:
        asked = "; ".join(f"{phase} needs {', '.join(names)}" for phase, names in missing.items())
        raise SizeError(f"{model.target} has no value for some sizes: {asked}; set each with --set")
    return found


def roofline(
    models: Sequence[Model], conventions: dict[str, str], extension: str, peak: str | None, bandwidth: str | None
) -> bytes:
    """Return the plot as the bytes of a file. Raises OptionError and SizeError."""
    if peak is None or bandwidth is None:
        raise OptionError(
            "a roofline needs the peak and the bandwidth of a device; set both, as in --peak 989TFLOPS "
            "--bandwidth 3.35TB/s"
        )
    if len(models) > MOST:
        raise OptionError(f"{len(models)} targets are given; the plot has at most {MOST} distinct marks")
    top, slope = amount(peak, ("FLOPS", "FLOP/s"), "--peak"), amount(bandwidth, ("B/s",), "--bandwidth")
    ridge = top / slope
    points = [(model.name, intensities(model, conventions)) for model in models]
    every = [each for _, found in points for each in found.values()]
    low, high = min([*every, ridge]) / 4, max([*every, ridge]) * 4

    bound = f"{literal(peak)} at {literal(bandwidth)}: compute-bound from {float(ridge):,.1f} FLOPs/byte"
    shared = of_one_rank([(model, model.formula("intensity", **conventions)) for model in models])

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        roof = [low, ridge, high]
        axes.plot([float(each) for each in roof], [float(min(top, each * slope)) for each in roof], color="black")
        axes.axvline(float(ridge), color="#777777", linewidth=0.5, linestyle=(0, (2, 2)))
        for place, (name, found) in enumerate(points):
            for phase, intensity in found.items():
                axes.plot(
                    [float(intensity)],
                    [float(min(top, intensity * slope))],
                    linestyle="none",
                    markersize=5,
                    marker=MARKS[place],
                    color=INKS[place],
                    fillstyle="full" if phase == "prefill" else "none",
                    label=f"{literal(name)}, {phase}: {float(intensity):,.2f}",
                )
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("intensity (FLOPs/byte)")
        axes.set_ylabel("attainable FLOPs/s")
        grid(axes)
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper left")
        write_below(figure, [bound, *shared])

    return plot_bytes(draw, extension, 2.5 + 0.28 * len(points) + MARGIN * len(shared))
