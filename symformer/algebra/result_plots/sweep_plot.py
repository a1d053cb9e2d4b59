"""Plots of a sweep: the Pareto front, a quantity against one size, or a heat map over two sizes."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ...language.errors import OptionError
from ...language.notation.latex import latex
from ...language.symbols import SYMBOLS, named_symbol
from ...output.base_plot import Plot
from ...output.chart import Chart, Series
from ...output.heat_map import HeatMap
from ...output.style import MOST, escaped, literal
from .axis import label

if TYPE_CHECKING:
    from ..sweep import Sweep

DRAWN = 4_000  # maximum number of drawn points
CELLS = 250_000  # maximum number of cells of a heat map
ALL = 10**7  # maximum number of rows of a plotted sweep


def draw(found: Sweep) -> Plot:
    """Return the plot of a sweep. Raises OptionError if a single plot cannot show it."""
    if found.rows.count > ALL:
        raise OptionError(
            f"a plot can have at most {ALL:,} rows, but the sweep has {found.rows.count:,}; use larger steps"
        )
    if found.pareto:
        return front(found)
    if found.limit is not None:
        raise OptionError("a plot cannot show only the first rows; remove limit, or use pareto")
    names = found.rows.names
    if len(names) == 1:
        return line(found)
    if len(found.quantities) == 2:
        return cloud(found)
    if len(names) == 2 and len(found.quantities) == 1:
        return heat(found)
    raise OptionError(
        f"a plot has two axes, but this sweep has {', '.join(names)} and {', '.join(found.quantities)}; sweep one or "
        "two sizes for one quantity, choose two quantities, or use pareto with two columns"
    )


def front(found: Sweep) -> Chart:
    """Return all rows by two objectives, with the Pareto front."""
    if len(found.pareto) != 2:
        raise OptionError(f"a plot can show a front of two objectives, not {len(found.pareto)}; choose two of them")
    first, second = (each.name for each in found.pareto)
    every, count, step = _some(replace(found, pareto=()), (first, second))
    kept = found.table()
    xs, ys = (list(map(_number, kept[name].tolist())) for name in (first, second))
    series = [Series("all configs", *every, "faint"), Series("on the front", xs, ys, "steps")]
    notes = [escaped(f"{len(xs):,} of {count:,} configs: {' and '.join(map(str, found.pareto))}"), *_drawn(count, step)]
    return Chart(_column(found, first), _column(found, second), series, (), notes, from_zero=False, logarithmic=True)


def cloud(found: Sweep) -> Chart:
    """Return one quantity against the other, with one point per row."""
    first, second = found.quantities
    every, count, step = _some(found, (first, second))
    notes = [f"{count:,} configs of {literal(found.model.name)}", *_drawn(count, step)]
    series = [Series("", *every, "points" if count <= 100 else "faint")]
    return Chart(_column(found, first), _column(found, second), series, (), notes, from_zero=False, logarithmic=True)


def line(found: Sweep) -> Chart:
    """Return each quantity against the only swept size."""
    units = {each.measure.unit for each in found.formulas}
    if len(units) > 1:
        raise OptionError(f"{' and '.join(sorted(units))} cannot share an axis; choose quantities with one unit")
    if len(found.quantities) > MOST:
        raise OptionError(f"{len(found.quantities)} quantities do not fit in one plot; choose at most {MOST}")
    (name,) = found.rows.names
    columns = found.table()
    xs = list(map(int, columns[name].tolist()))
    if not xs:
        raise OptionError("no rows remain, so there is nothing to plot")
    step = -(-len(xs) // DRAWN)
    order = sorted(range(len(xs)), key=xs.__getitem__)[::step]
    several = len(found.quantities) > 1
    series = [
        Series(
            escaped(each.measure.title) if several else "",
            [xs[row] for row in order],
            [_number(columns[each.measure.name][row]) for row in order],
        )
        for each in found.formulas
    ]
    word = units.pop() if several else found.formulas[0].measure.title
    notes = [f"{len(xs):,} configs of {literal(found.model.name)}", *_drawn(len(xs), step)]
    return Chart(label(named_symbol(name)), word, series, (), notes)


def heat(found: Sweep) -> HeatMap:
    """Return a heat map of the quantity over two sizes."""
    if found.rows.count > CELLS:
        raise OptionError(f"{found.rows.count:,} configs exceed the {CELLS:,} cells of a heat map; use larger steps")
    first, second = found.rows.names
    columns = found.table()
    rows = zip(*(columns[name].tolist() for name in (first, second, found.quantities[0])), strict=True)
    numbers = {(int(x), int(y)): _number(value) for x, y, value in rows}
    if not numbers:
        raise OptionError("no rows remain, so there is nothing to plot")
    xs, ys = (sorted({pair[place] for pair in numbers}) for place in (0, 1))
    blank = found.rows.count - len(numbers)
    notes = [f"{len(numbers):,} configs of {literal(found.model.name)}" + f"; {blank:,} left out" * bool(blank)]
    title = found.formulas[0].measure.title
    return HeatMap(label(named_symbol(first)), label(named_symbol(second)), title, xs, ys, numbers, notes)


def _some(found: Sweep, names: tuple[str, str]) -> tuple[tuple[list[int | Fraction], list[int | Fraction]], int, int]:
    """Return two columns of all rows, or of every n-th row if there are too many, the number of rows, and n."""
    step = max(1, -(-found.rows.count // DRAWN))
    columns: tuple[list[int | Fraction], list[int | Fraction]] = [], []
    count = 0
    for block in found.chunks():
        length = len(block[names[0]])
        start = -count % step
        for column, name in zip(columns, names, strict=True):
            column += [_number(each) for each in block[name][start::step].tolist()]
        count += length
    if not count:
        raise OptionError("no rows remain, so there is nothing to plot")
    return columns, count, step


def _number(value: Any) -> int | Fraction:
    """Return a number of a column as Python's own."""
    return value if isinstance(value, Fraction) else int(value)


def _drawn(count: int, step: int) -> list[str]:
    return [f"one in {step:,} is drawn"] if step > 1 else []


def _column(found: Sweep, name: str) -> Any:
    """Return the axis label of a column: the title of a quantity, or the letter of a size."""
    for each in found.formulas:
        if each.measure.name == name:
            return escaped(each.measure.title)
    return label(named_symbol(name)) if name in SYMBOLS else f"${latex(named_symbol(name))}$"
