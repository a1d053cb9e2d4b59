"""Plots of quotients of two quantities against one size, with their limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sympy import Symbol

from ...formulas import ranks
from ...language.errors import OptionError, SizeError, listed
from ...language.notation.display_tree import value
from ...language.notation.latex import latex
from ...language.notation.text import exact_text
from ...language.symbols import NamedSizes, letter, print_order, symbol
from ...output.chart import Chart, ReferenceLine, Series
from ...output.style import MOST, literal
from ..crossover import AllowedValues
from . import rank_notes
from .axis import USUAL, axis_end, label, only, points_along, value_at

if TYPE_CHECKING:
    from ..quantity_ratio import QuantityRatio

WIDE = 4  # end of the axis, as a multiple of the size's number
NEAR = 10  # the axis extends until the quotient is within 1/NEAR of its limit
DOUBLED = 64  # maximum extension of the axis for a distant limit, as a factor


def draw_together(found: Sequence[QuantityRatio], by: str) -> Chart:
    """Return the plot of several quotients, with notes on per-rank values. Raises OptionError, SizeError."""
    sides = [
        (f"{side.measure.name} of {each.model.name}", side.ranks, each.model.known)
        for each in found
        for side in (each.numerator, each.denominator)
    ]
    return draw(found, by).with_notes(map(rank_notes.line, ranks.stated_of_each(sides)))


def draw(found: Sequence[QuantityRatio], by: str) -> Chart:
    """Return the plot of some quotients. Raises OptionError, SizeError."""
    if len(found) > MOST:
        raise OptionError(f"{len(found)} quotients do not fit in one plot; choose at most {MOST}")
    own = frozenset[Symbol]().union(*(value(each.ratio).free_symbols for each in found))
    size = symbol(by, NamedSizes.joined(NamedSizes(own, each.model.names) for each in found)) if by else _usual(found)
    series: list[Series] = []
    across: list[ReferenceLine] = []
    notes: list[str] = []
    tops = [_top(each, size) for each in found]
    for each in found:
        ratio, name = value(each.ratio), literal(each.model.name + (f" ({each.part})" if each.part else ""))
        if size not in ratio.free_symbols and len(found) == 1:
            has = listed(sorted(ratio.free_symbols, key=print_order))
            raise SizeError(
                f"{each.unit} of {each.model.target} does not depend on {size}"
                + (f"; its sizes are {has}" if has else "")
            )
        exact = only(ratio, size, each.model.known, each.model.target)
        allowed = AllowedValues()
        for formula in (each.numerator, each.denominator):
            allowed &= AllowedValues.of(size, formula.constraints, each.model.known)
        xs = points_along(max(tops), allowed)
        series.append(Series(name, xs, [value_at(exact, size, x) for x in xs]))
        limit = each.limits.get(size)
        if limit is None:
            continue
        number = limit.value(each.model.known)
        spelt = f"as ${latex(size)}$ grows"
        if number is not None:
            across.append(ReferenceLine(f"{name} {spelt}", number))
            near = "" if number.denominator == 1 else rf" $\approx$ {float(number):,.6g}"
            notes.append(f"{name} tends to {exact_text(number)}{near} {spelt}")
        else:
            notes.append(f"{name} tends to 0 {spelt}" if limit.kind == "0" else f"{name} grows without bound")
    first = found[0]
    return Chart(
        label(size), f"{first.numerator.measure.title} over\n{first.denominator.measure.title}", series, across, notes
    )


def _usual(found: Sequence[QuantityRatio]) -> Symbol:
    """Return the only size without a number, or else the first of S, C, L and E in the quotients."""
    used = set().union(*(value(each.ratio).free_symbols for each in found))
    free = set().union(*(value(each.ratio).free_symbols - each.model.known.keys() for each in found))
    if not used:
        raise OptionError(
            f"{found[0].numerator.id} over {found[0].denominator.id} is {found[0]!r} for all sizes; "
            "there is nothing to plot"
        )
    if len(free) == 1:
        return free.pop()
    ordered = sorted(used, key=print_order)
    usual = (each for name in ("S", "C", "L", "E") for each in ordered if each.name == name)
    return next(usual, ordered[0])


def _top(found: QuantityRatio, size: Symbol) -> int:
    """Return the end of the axis: a multiple of the size's number, extended until the quotient is near its limit."""
    known = found.model.known.get(size)
    top = USUAL if known is None and letter(size).run else axis_end([WIDE * (known or 8)])
    limit = found.limits.get(size)
    number = limit.value(found.model.known) if limit is not None else None
    if not number:
        return top
    exact, most = only(value(found.ratio), size, found.model.known, found.model.target), DOUBLED * top
    while top < most and abs(value_at(exact, size, top) - number) * NEAR > number:
        top *= 2
    return top
