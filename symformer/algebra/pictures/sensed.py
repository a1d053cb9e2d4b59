"""A sensitivity as a picture: the elasticities as bars, or the quantity against one size with its asymptote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...language.errors import OptionError, SizeError
from ...language.notation.latex import latex
from ...language.notation.tree import tree
from ...language.symbols import symbol
from ...language.target import name_of
from ...output.bars import Bars
from ...output.chart import Chart, Series
from ...output.picture import Picture
from ...output.style import escaped, literal
from ..crossover import Allowed
from .axis import USUAL, along, at, furthest, label

if TYPE_CHECKING:
    from ..sensitivity import Sensitivity

WIDE = 2  # times its number that a size goes
LONG = 70  # characters of LaTeX that fit in a legend


def drawn(found: Sensitivity, by: str) -> Picture:
    """The picture. Raises OptionError, SizeError."""
    return curve(found, by) if by else bars(found)


def bars(found: Sensitivity) -> Bars:
    """By how many per cent the quantity grows as each size does by one."""
    numbers = {each.size: each.at(each.elasticity) for each in found.changes}
    if not numbers:
        raise OptionError(f"{found.formula.id} has no size, so there is nothing to plot")
    known = {size: number for size, number in numbers.items() if number is not None}
    if not known:
        names = ", ".join(str(each.size) for each in found.changes if each.value is None)
        raise SizeError(
            f"elasticities are numbers, and {names} has none; name a preset, or give each a number"
            if names
            else f"{found.formula.id} has no elasticity: a whole part, a least or a most has corners"
        )
    sizes = [f"${latex(tree(size))}$" for size in known]
    notes = [f"{escaped(found.formula.measure.title)} of {literal(name_of(found.model.target))}"]
    if without := [latex(tree(size)) for size in numbers if size not in known]:
        notes.append(f"no elasticity of ${', '.join(without)}$: a number is lacking, or it has corners")
    column = list(known.values())
    written = [f"{float(number):.4g}" for number in column]
    name = "elasticity"
    return Bars("per cent more, by one per cent more of the size", sizes, {name: column}, {name: written}, notes)


def curve(found: Sensitivity, by: str) -> Chart:
    """The quantity against one size, the others at their numbers, with what it comes near to."""
    change = found[by]
    size = symbol(by)
    if lacking := sorted(str(each) for each in change.alone.free_symbols - {size}):
        raise SizeError(f"a plot is of numbers, and {', '.join(lacking)} has none; give each a number of its own")
    allowed = Allowed.of(size, found.formula.constraints, found.model.known)
    xs = along(USUAL if change.value is None else furthest([WIDE * change.value]), allowed)
    series = [Series(literal(name_of(found.model.target)), xs, [at(change.alone, size, x) for x in xs])]
    if change.value is not None:
        series.append(Series("", [change.value], [at(change.alone, size, change.value)], "mark"))
    if change.asymptote is not None and change.asymptote != change.alone:
        spelt = latex(tree(change.asymptote))
        word = f"in the end ${spelt}$" if len(spelt) <= LONG else "in the end"
        series.append(Series(word, xs, [at(change.asymptote, size, x) for x in xs]))
    return Chart(label(size), found.formula.measure.title, series)
