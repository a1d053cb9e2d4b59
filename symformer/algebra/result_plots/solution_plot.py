"""Plots of solutions: the total against the unknown size, or one unknown size against another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...language.errors import SizeError
from ...language.notation.latex import latex
from ...language.notation.text import cell
from ...language.sizes import substitute
from ...language.symbols import named_symbol
from ...output.chart import Chart, ReferenceLine, Series
from ...output.style import escaped
from ..crossover import AllowedValues
from .axis import axis_end, grouped, label, points_along, value_at

if TYPE_CHECKING:
    from ..solve import Solutions

DRAWN = 5_000  # maximum number of solutions in a plot


def draw(found: Solutions) -> Chart:
    """Return the plot of solutions. Raises SizeError if there is nothing to plot."""
    if not found.all and found.nearest is None:
        raise SizeError(f"there is nothing to plot: {found.verdict}")
    return line(found) if len(found.unknowns) == 1 else points(found)


def line(found: Solutions) -> Chart:
    """Return the total against the only unknown size, with the target as a horizontal line and the solutions."""
    (open_,) = found.unknowns
    size = open_.size
    numbers = {named_symbol(name): number for name, number in found.numbers.items()}
    exact = substitute(found.formula.exact_value, numbers)
    best = list(found.all) or [each for each in (found.nearest,) if each is not None]
    allowed = AllowedValues.of(size, found.formula.constraints, numbers)
    if open_.values is None:
        xs = points_along(axis_end(each.sizes[open_.name] for each in best), allowed)
    else:
        step = max(1, len(open_.values) // 512)
        xs = [number for number in open_.values[::step] if number in allowed]
    marked = [each.sizes[open_.name] for each in best[:DRAWN]]
    xs = sorted({*xs, *marked})
    across = [ReferenceLine(_wanted(found) if not place else "", each) for place, each in enumerate(found.goal.ends)]
    series = [
        Series("", xs, [value_at(exact, size, x) for x in xs]),
        Series("solutions" if found.all else "the nearest", marked, [each.value for each in best[:DRAWN]], "mark"),
    ]
    return Chart(label(size), found.formula.measure.title, series, across, _notes(found))


def points(found: Solutions) -> Chart:
    """Return the second unknown size against the first, with one point per solution."""
    first, second = (each.size for each in found.unknowns[:2])
    every = list(found.all[:DRAWN]) or [each for each in (found.nearest,) if each is not None]
    series = []
    for name, kind, chosen in (
        ("widths divisible by 64, E divisible by A", "points", [each for each in every if each.buildable]),
        ("other solutions", "hollow", [each for each in every if not each.buildable]),
    ):
        if chosen:
            xs, ys = ([each.sizes[str(size)] for each in chosen] for size in (first, second))
            series.append(Series(name if found.all else "the nearest", xs, ys, kind))
    notes = [f"{escaped(found.formula.measure.title)}: {escaped(found.goal.text)}", *_notes(found)]
    if len(found.all) > DRAWN:
        notes.append(f"only the first {DRAWN:,} are drawn")
    if others := [latex(each.size) for each in found.unknowns[2:]]:
        notes.append(f"a point can represent several solutions with different ${', '.join(others)}$")
    return Chart(label(first), label(second), series, (), notes, from_zero=False)


def _wanted(found: Solutions) -> str:
    return escaped(found.goal.text)


def _notes(found: Solutions) -> list[str]:
    """Return the verdict, or the sizes of the only solution."""
    if len(found.all) == 1:
        only = found.all[0]
        sizes = ", ".join(f"${latex(named_symbol(name))} = {grouped(number)}$" for name, number in only.sizes.items())
        return [f"{sizes}: {cell(only.value, found.formula.measure.unit)} {found.formula.measure.unit}"]
    return [escaped(part) for part in found.verdict.split("; ")]
