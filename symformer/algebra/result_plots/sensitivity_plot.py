"""Plots of a sensitivity: the elasticities as bars, or the quantity and its asymptote against one size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...language.errors import OptionError, SizeError, needs_values
from ...language.notation.latex import latex
from ...output.bars import Bars
from ...output.base_plot import Plot
from ...output.chart import Chart, Series
from ...output.style import escaped, literal
from ..crossover import AllowedValues
from .axis import USUAL, axis_end, label, points_along, value_at

if TYPE_CHECKING:
    from ..sensitivity import Sensitivity

WIDE = 2  # end of the axis, as a multiple of the size's number
LONG = 70  # maximum number of LaTeX characters in a legend


def draw(found: Sensitivity, by: str) -> Plot:
    """Return the plot of a sensitivity. Raises OptionError, SizeError."""
    return curve(found, by) if by else bars(found)


def bars(found: Sensitivity) -> Bars:
    """Return bars of the elasticities."""
    numbers = {each.size: each.evaluate(each.elasticity) for each in found.changes}
    if not numbers:
        raise OptionError(f"{found.formula.id} does not depend on any size, so there is nothing to plot")
    known = {size: number for size, number in numbers.items() if number is not None}
    if not known:
        if lacking := [each.size for each in found.changes if each.value is None]:
            raise SizeError(needs_values("a plot of elasticities", lacking, "choose a preset, or "))
        raise SizeError(f"{found.formula.id} has no elasticity: floor, ceiling, min and max are not differentiable")
    sizes = [f"${latex(size)}$" for size in known]
    notes = [f"{escaped(found.formula.measure.title)} of {literal(found.model.name)}"]
    if without := [latex(size) for size in numbers if size not in known]:
        notes.append(f"no elasticity for ${', '.join(without)}$: a value is missing, or it is not differentiable")
    column = list(known.values())
    written = [f"{float(number):.4g}" for number in column]
    name = "elasticity"
    return Bars("change in percent per percent of the size", sizes, {name: column}, {name: written}, notes)


def curve(found: Sensitivity, by: str) -> Chart:
    """Return the quantity and its asymptote against one size, holding the others fixed."""
    change = found[by]
    size = change.size
    if lacking := sorted(str(each) for each in change.univariate.free_symbols - {size}):
        raise SizeError(needs_values("a plot", lacking))
    allowed = AllowedValues.of(size, found.formula.constraints, found.model.known)
    xs = points_along(USUAL if change.value is None else axis_end([WIDE * change.value]), allowed)
    series = [Series(literal(found.model.name), xs, [value_at(change.univariate, size, x) for x in xs])]
    if change.value is not None:
        series.append(Series("", [change.value], [value_at(change.univariate, size, change.value)], "mark"))
    if change.asymptote is not None and change.asymptote != change.univariate:
        spelt = latex(change.asymptote)
        word = f"asymptote ${spelt}$" if len(spelt) <= LONG else "asymptote"
        series.append(Series(word, xs, [value_at(change.asymptote, size, x) for x in xs]))
    return Chart(label(size), found.formula.measure.title, series)
