"""One quantity over another as a picture: the quotient against one size, and what it comes near to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sympy import Symbol

from ...formulas import ranks
from ...language.errors import OptionError, SizeError, listed
from ...language.notation.latex import latex
from ...language.notation.tree import tree, value
from ...language.symbols import RANK, letter, symbol
from ...language.target import name_of
from ...output.chart import Across, Chart, Series
from ...output.style import MOST, literal
from ..crossover import Allowed
from . import rank_notes
from .axis import USUAL, along, at, furthest, label, only

if TYPE_CHECKING:
    from ..over import Over

WIDE = 4  # times its number that a size goes
NEAR = 10  # one part of so many is near enough to a limit
DOUBLED = 64  # times its number at most, for a limit that is far


def drawn_together(found: Sequence[Over], by: str) -> Chart:
    """The picture of several, with how many ranks each is of. Raises OptionError, SizeError."""
    sides = [
        (f"{side.measure.name} of {name_of(each.model.target)}", side.ranks, each.model.known)
        for each in found
        for side in (each.above, each.below)
    ]
    return drawn(found, by).with_notes(map(rank_notes.line, ranks.stated_of_each(sides, rank_notes.spell)))


def drawn(found: Sequence[Over], by: str) -> Chart:
    """The picture of each. Raises OptionError, SizeError."""
    if len(found) > MOST:
        raise OptionError(f"{len(found)} quotients are asked for, and {MOST} are told apart in a plot")
    size = symbol(by) if by else _usual(found)
    series: list[Series] = []
    across: list[Across] = []
    notes: list[str] = []
    tops = [_top(each, size) for each in found]
    for each in found:
        ratio, name = value(each.ratio), literal(name_of(each.model.target) + (f" ({each.part})" if each.part else ""))
        if size not in ratio.free_symbols and len(found) == 1:
            has = listed(sorted(ratio.free_symbols, key=RANK.__getitem__))
            raise SizeError(f"{size} is not in {each.unit} of {each.model.target}" + (f"; it has {has}" if has else ""))
        exact = only(ratio, size, each.model.known, each.model.target)
        allowed = Allowed()
        for formula in (each.above, each.below):
            allowed &= Allowed.of(size, formula.constraints, each.model.known)
        xs = along(max(tops), allowed)
        series.append(Series(name, xs, [at(exact, size, x) for x in xs]))
        limit = each.limits.get(size)
        if limit is None:
            continue
        number = limit.value(each.model.known)
        spelt = f"as ${latex(tree(size))}$ grows"
        if number is not None:
            across.append(Across(f"{name} {spelt}", number))
            told = f"{number.numerator:,}" + (f"/{number.denominator:,}" if number.denominator != 1 else "")
            near = "" if number.denominator == 1 else rf" $\approx$ {float(number):,.6g}"
            notes.append(f"{name} comes near to {told}{near} {spelt}")
        else:
            notes.append(f"{name} comes near to 0 {spelt}" if limit.kind == "0" else f"{name} grows without bound")
    first = found[0]
    return Chart(label(size), f"{first.above.measure.title} over\n{first.below.measure.title}", series, across, notes)


def _usual(found: Sequence[Over]) -> Symbol:
    """The only size without a number; else the first of the usual ones."""
    used = set().union(*(value(each.ratio).free_symbols for each in found))
    free = set().union(*(value(each.ratio).free_symbols - each.model.known.keys() for each in found))
    if not used:
        raise OptionError(
            f"{found[0].above.id} over {found[0].below.id} is {found[0]!r} at every size; nothing to plot"
        )
    if len(free) == 1:
        return free.pop()
    ordered = sorted(used, key=RANK.__getitem__)
    usual = (each for name in ("S", "C", "L", "E") for each in ordered if each.name == name)
    return next(usual, ordered[0])


def _top(found: Over, size: Symbol) -> int:
    """How far the axis goes: some times its number, and on to where a limit is near."""
    known = found.model.known.get(size)
    top = USUAL if known is None and letter(size).run else furthest([WIDE * (known or 8)])
    limit = found.limits.get(size)
    number = limit.value(found.model.known) if limit is not None else None
    if not number:
        return top
    exact, most = only(value(found.ratio), size, found.model.known, found.model.target), DOUBLED * top
    while top < most and abs(at(exact, size, top) - number) * NEAR > number:
        top *= 2
    return top
