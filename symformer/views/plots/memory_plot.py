"""Plot of training memory against the batch size, with the limit of a device."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from ...formulas.formula import Formula
from ...language.errors import OptionError, SizeError, needs_values, quoted
from ...language.sizes import Numbers, evaluate
from ...language.symbols import B
from ...models.model import Model
from ...output.base_plot import MARGIN, write_below
from ...output.style import INKS, MARKS, MOST, STROKES, grid, literal, plot_bytes
from .rank_caption import of_one_rank

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Counted = tuple[Model, Formula]
POINTS = 32
EXAMPLES = {"B": "80GB", "FLOPS": "989TFLOPS", "B/s": "3.35TB/s"}
PREFIXES = {"": 0, "k": 1, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}


def amount(given: str, units: Sequence[str], option: str) -> Fraction:
    """Parse a number with a unit, such as 80GB, 3.35TB/s or 989TFLOPS. Raises OptionError."""
    found = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,15})?)\s?([kKMGTPE]?)(i?)(.{1,8})", given, re.ASCII)
    if found is None or found[4] not in units or (found[3] and not found[2]) or Fraction(found[1]) == 0:
        raise OptionError(
            f"{option} {quoted(given)} is not valid; write a number and the unit {units[0]}, such as "
            f"{EXAMPLES[units[0]]}"
        )
    return Fraction(found[1]) * Fraction((1024 if found[3] else 1000) ** PREFIXES[found[2]])


def largest(formula: Formula, numbers: Numbers, limit: Fraction) -> int:
    """Return the largest batch that fits a device, or 0 if a single sequence does not fit."""

    def fits(batch: int) -> bool:
        return evaluate(formula.expanded, {**numbers, B: batch}, formula.id) <= limit

    if not fits(1):
        return 0
    high = 1
    while fits(2 * high):
        high *= 2
    low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def memory(models: Sequence[Counted], extension: str, device: str | None) -> bytes:
    """Return the plot as the bytes of a file. Raises OptionError and SizeError."""
    if len(models) > MOST:
        raise OptionError(f"{len(models)} targets are given; the plot has at most {MOST} distinct lines")
    limit = amount(device, ("B",), "--device") if device is not None else None
    drawn: list[tuple[str, Formula, Numbers, int | None]] = []
    for model, formula in models:
        if formula.measure.unit != "bytes":
            raise OptionError(f"{formula.measure.name} is counted in {formula.measure.unit}; the plot needs bytes")
        if B in model.known:
            raise OptionError("B is the x-axis; remove --set B")
        if B not in formula.symbols:
            raise OptionError(f"the {formula.measure.title} of {model.target} do not depend on the batch B")
        if missing := [str(each) for each in formula.symbols if each not in model.known and each != B]:
            raise SizeError(needs_values(model.target, missing))
        formula.value(B=1)  # checks all sizes against every condition
        most = largest(formula, model.known, limit) if limit is not None else None
        drawn.append((model.name, formula, model.known, most))
    last = max([8, *(most * 5 // 4 + 1 for *_, most in drawn if most is not None)])
    step = -(-last // POINTS)
    batches = [1, *range(step, last + 1, step)] if step > 1 else list(range(1, last + 1))

    shared = of_one_rank(models)

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        said = []
        for place, (name, formula, numbers, most) in enumerate(drawn):
            values = [evaluate(formula.expanded, {**numbers, B: batch}, formula.id) for batch in batches]
            axes.plot(
                batches,
                [float(Fraction(each, 10**9)) for each in values],
                color=INKS[place],
                linestyle=STROKES[place],
                marker=MARKS[place],
                markevery=max(1, len(batches) // 6),
                label=literal(name),
            )
            if most:
                value = evaluate(formula.expanded, {**numbers, B: most}, formula.id)
                axes.plot(
                    [most],
                    [float(Fraction(value, 10**9))],
                    marker=MARKS[place],
                    color="black",
                    markersize=6,
                    fillstyle="none",
                    linestyle="none",
                )
                said.append(f"{literal(name)}: at most $B = {most:,}$, {value:,} bytes")
            elif most == 0:
                said.append(f"{literal(name)}: a single sequence does not fit")
        if limit is not None:
            axes.axhline(
                float(limit / 10**9), color="black", linewidth=0.8, linestyle=(0, (6, 2)), label=literal(str(device))
            )
        axes.set_ylim(bottom=0)
        axes.set_xlim(left=0)
        axes.locator_params(axis="x", integer=True)
        axes.set_xlabel("batch $B$ (sequences)")
        axes.set_ylabel(f"{drawn[0][1].measure.title.replace('bytes', 'GB', 1)}")
        grid(axes)
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper left")
        write_below(figure, [*said, *shared])

    return plot_bytes(draw, extension, 2.5 + 0.28 * len(drawn) + MARGIN * len(shared))
