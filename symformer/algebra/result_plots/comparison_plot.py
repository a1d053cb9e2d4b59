"""Plots of a comparison: its rows side by side, or the totals against one size with their crossovers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from sympy import Expr, Symbol, expand

from ...language.errors import OptionError, SizeError, needs_values
from ...language.notation.latex import latex
from ...language.notation.text import text
from ...language.symbols import print_order, symbol
from ...output.bars import Bars
from ...output.base_plot import Plot
from ...output.chart import Chart, Series
from ...output.style import MOST, literal
from ..crossover import AllowedValues, Span, spans, without_common_factor
from .axis import axis_end, crossing_point, grouped, label, only, points_along, value_at

if TYPE_CHECKING:
    from ..model_comparison import Comparison

FAR = 10**7  # limit on crossovers that extend the axis


def draw(found: Comparison, by: str) -> Plot:
    """Return the plot of a comparison. Raises OptionError, SizeError."""
    if len(found.models) > MOST:
        raise OptionError(f"{len(found.models)} models do not fit in one plot; compare at most {MOST}")
    return curves(found, symbol(by, found.all_sizes)) if by else rows(found)


def names(found: Comparison) -> list[str]:
    """Return the name of each model, without folders."""
    return [
        literal(name.replace(model.target, model.name, 1))
        for name, model in zip(found.names, found.models, strict=True)
    ]


def amount(found: Comparison) -> str:
    """Return the title of the quantity and its divisor."""
    title = found.formulas[0].measure.title
    return title if found.divisor == 1 else f"{title} per ${latex(found.divisor)}$"


def rows(found: Comparison) -> Bars:
    """Return bars of each row and the total, side by side for all models."""
    values = [[side.value for side in sides] for _, *sides in found.rows]
    if any(each is None for row in values for each in row):
        used = set().union(*(side.expr.free_symbols for side in found.totals))
        free = sorted(used - found.numbers.keys(), key=print_order)
        against = f", or plot against it with x={str(free[0])!r} or --crossover {free[0]}" if len(free) == 1 else ""
        raise SizeError(needs_values("a bar plot", free, after=against))
    told = names(found)
    columns = {name: [row[place] or 0 for row in values] for place, name in enumerate(told)}
    return Bars(
        amount(found),
        [role for role, *_ in found.rows],
        columns,
        {name: [f"{number:,}" for number in numbers] for name, numbers in columns.items()},
    )


def curves(found: Comparison, size: Symbol) -> Chart:
    """Return each total against one size, which is the same in all models, holding their other sizes fixed."""
    letters = [own.get(size, size) for own in found.renamed_letters]
    exprs: list[Expr] = []
    for side, numbers, own, model, formula in zip(
        found.totals, found.sizes, letters, found.models, found.formulas, strict=True
    ):
        if size in formula.totals and own not in side.expr.free_symbols:
            kinds = text(formula.relations[size])
            raise SizeError(f"{size} is {kinds} in {formula.id}; plot against one of those sizes")
        exprs.append(only(side.expr.xreplace({own: size}), size, numbers, model.target))
    if not any(size in each.free_symbols for each in exprs):
        raise SizeError(f"{size} does not affect {' and '.join(found.names)}; plot against another size")
    allowed = AllowedValues()
    for formula, model in zip(found.formulas, found.models, strict=True):
        allowed &= AllowedValues.of(size, formula.constraints, model.known)
    crossed = [sign_changes(expand(exprs[0] - other), size, allowed) for other in exprs[1:]]
    meets = [number for each in crossed for number in each.values() if number < FAR]
    here = [numbers[own] for numbers, own in zip(found.sizes, letters, strict=True) if own in numbers]
    if not here and not meets and size.name in ("S", "C"):
        here = [1024]
    xs = points_along(axis_end([*here, *meets]), allowed)
    told = names(found)
    series = [Series(name, xs, [value_at(expr, size, x) for x in xs]) for name, expr in zip(told, exprs, strict=True)]
    notes = [
        f"{told[place - 1]} has ${latex(tie.size)} = {grouped(tie.chosen)}$, "
        f"for {'' if tie.exact == tie.chosen else 'nearly '}equal {tie.measure.title}"
        for place, tie in found.ties.items()
        if tie.chosen is not None
    ]
    for place, (between, other) in enumerate(zip(crossed, exprs[1:], strict=True), 1):
        difference = expand(exprs[0] - other)
        for (low, high), number in between.items():
            if number <= xs[-1]:
                x = crossing_point(difference, size, low, high) if low != high else number
                series.append(Series("", [x], [value_at(other, size, x)], "mark"))
        notes += larger_model_notes(difference, size, allowed, told[0], told[place], len(told) > 2)
    return Chart(label(size), amount(found), series, (), notes)


def sign_changes(difference: Expr, size: Symbol, allowed: AllowedValues) -> dict[tuple[int, int], int]:
    """Return the sign changes of a difference: the last integer before and the first after, and the marked integer."""
    found: dict[tuple[int, int], int] = {}
    for before, after in pairwise(_spans(difference, size, allowed)):
        assert before.last is not None  # noqa: S101  (another span follows)
        if after.sign == 0:
            found[after.first, after.first] = after.first
        elif before.sign:
            found[before.last, after.first] = after.first
    return found


def larger_model_notes(
    difference: Expr, size: Symbol, allowed: AllowedValues, first: str, other: str, than: bool
) -> Iterator[str]:
    """Yield notes that state which model is larger at which integers, and than which of several."""
    every = _spans(difference, size, allowed)
    told = {1: f"{first} is larger", -1: f"{other} is larger", 0: "equal totals"}
    if than:
        told = {1: f"{told[1]} than {other}", -1: f"{told[-1]} than {first}", 0: f"{first} and {other} are equal"}
    for sign, words in told.items():
        if which := [each.text.replace("≥", r"$\geq$") for each in every if each.sign == sign]:
            alone = len(every) == 1
            yield f"{words}" + (f" for every ${latex(size)}$" if alone else f": ${latex(size)}$ " + ", ".join(which))


def _spans(difference: Expr, size: Symbol, allowed: AllowedValues) -> tuple[Span, ...]:
    common = without_common_factor(difference)
    return allowed.narrowed(spans(common, size))
