"""Plot of FLOPs against length: attention, the matrices, and their crossover."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from sympy import Add, Expr, Integer, cancel, expand

from ...formulas.formula import Formula
from ...formulas.ratio import lowest
from ...language.errors import OptionError, SizeError, needs_values
from ...language.notation.display_tree import FractionNode as Quotient
from ...language.notation.display_tree import tree
from ...language.notation.latex import latex
from ...language.sizes import Numbers, evaluate
from ...language.symbols import B, S
from ...ledger.facts import ATTENDING, OperationKind
from ...models.model import Model
from ...output.base_plot import MARGIN, write_below
from ...output.style import INKS, MARKS, MOST, STROKES, grid, literal, plot_bytes
from .rank_caption import of_one_rank

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Counted = tuple[Model, Formula]
FIRST, LAST = 6, 21  # powers of two: from 64 tokens to two million
LONG = 150  # characters of LaTeX that fit below the plot
MARK: dict[str, Any] = {"color": "#555555", "linewidth": 0.6, "linestyle": (0, (2, 2))}


def halves(formula: Formula) -> tuple[Expr, Expr]:
    """Return the total of attention (queries with keys, weights with values) and of the rest. Raises OptionError."""
    for _, line in formula.root.leaves():
        if (
            line.each != 0
            and line.entry is not None
            and line.entry.kind in (OperationKind.OBSERVED, OperationKind.PRODUCT)
        ):
            raise OptionError(f"{line.path} was traced, so it is not known whether it is attention")
    attends = [
        (count * line.each).xreplace(formula.relations)
        for count, line in formula.root.leaves()
        if line.entry is not None and line.entry.kind in ATTENDING
    ]
    first = expand(Add(*attends))
    return first, expand(formula.expanded - first)


def crossover(formula: Formula) -> Expr | None:
    """Return the exact length at which attention equals the rest, or None if there is no closed form.

    If attention is a·S² + b·S and the rest is c·S, the crossover is (c - b)/a.
    """
    attends, rest = halves(formula)
    square, linear = attends.coeff(S, 2), attends.coeff(S, 1)
    if square == 0 or expand(attends - square * S**2 - linear * S) != 0 or expand(rest - rest.coeff(S, 1) * S) != 0:
        return None
    return cancel(lowest(expand(rest.coeff(S, 1) - linear), expand(square)))


def lengths(formula: Formula, numbers: Numbers) -> Iterator[int]:
    """Yield powers of two and the integers halfway between them, up to the model's longest length."""
    for half in range(2 * FIRST, 2 * LAST + 1):
        length = 2 ** (half // 2) * (1 if half % 2 == 0 else 3) // (1 if half % 2 == 0 else 2)
        try:
            formula.value({**_named(numbers), "S": length})
        except SizeError:
            continue
        yield length


def _named(numbers: Numbers) -> dict[str, int]:
    return {str(size): number for size, number in numbers.items()}


def flops(models: Sequence[Counted], extension: str) -> bytes:
    """Return the plot as the bytes of a file. Raises OptionError and SizeError."""
    if len(models) > MOST // 2:
        raise OptionError(f"{len(models)} targets are given; the plot has distinct lines for at most {MOST // 2}")
    drawn = []
    for model, formula in models:
        if S in model.known:
            raise OptionError("S is the x-axis; remove --set S")
        numbers = {**model.known, **({B: 1} if B not in model.known and B in formula.symbols else {})}
        if missing := [str(each) for each in formula.symbols if each not in numbers and each != S]:
            raise SizeError(needs_values(model.target, missing, "name a preset, or "))
        if S not in formula.symbols:
            raise OptionError(f"the {formula.measure.title} of {model.target} do not depend on the length S")
        points = list(lengths(formula, {size: n for size, n in numbers.items() if size in formula.accepted_sizes}))
        if not points:
            raise SizeError(f"{model.target} does not support a length of 2^{FIRST} tokens or more")
        drawn.append((model, formula, numbers, points))

    shared = of_one_rank(models)

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        said = []
        for place, (model, formula, numbers, points) in enumerate(drawn):
            name = literal(model.name)
            for what, (expr, mark) in enumerate(zip(halves(formula), MARKS, strict=False)):
                if expr == 0:
                    continue
                values = [evaluate(expr, {**numbers, S: point}, formula.id) for point in points]
                label = f"{name}: {'attention' if what == 0 else 'matrices'}"
                axes.plot(
                    points,
                    values,
                    color=INKS[2 * place + what],
                    linestyle=STROKES[what],
                    marker=mark,
                    markevery=4,
                    label=label,
                )
            said += _crossing(axes, model, formula, numbers, points)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xlabel("length $S$ (tokens)")
        batch = {numbers.get(B) for _, _, numbers, _ in drawn}
        axes.set_ylabel(f"{drawn[0][1].measure.title}" + (f", $B = {batch.pop()}$" if len(batch) == 1 else ""))
        grid(axes)
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper left", handlelength=2.8)
        write_below(figure, [*said, *shared])

    return plot_bytes(draw, extension, 2.5 + 0.62 * len(drawn) + MARGIN * len(shared))


def _crossing(axes: Axes, model: Model, formula: Formula, numbers: Numbers, points: Sequence[int]) -> list[str]:
    """Mark the crossover and return lines that state it: as a formula, or as the first plotted length."""
    where, name = crossover(formula), literal(model.name)
    if where is None:
        first = overtaking(formula, numbers, points)
        if first is None:
            return [f"{name}: attention is always the smaller part"]
        axes.axvline(first, **MARK)
        return [f"{name}: attention is the larger part for $S \\geq {_grouped(first)}$"]
    exact = where.xreplace({size: Integer(number) for size, number in numbers.items()})
    above, below = (expand(side) for side in where.as_numer_denom())
    spelt = latex(tree(above) if below == 1 else Quotient(tree(above), tree(below)))
    sign = "=" if exact.is_Integer else r"\approx"
    value = _grouped(int(exact)) if exact.is_Integer else _grouped(float(exact))
    said = [f"{name}: attention becomes the larger part at $S {sign} {value}$"]
    if exact > points[-1]:
        said[0] += f" (here $S \\leq {_grouped(points[-1])}$)"
    elif exact >= points[0]:
        axes.axvline(float(exact), **MARK)
    return [*said, f"    $S = {spelt}$"] if len(spelt) <= LONG else said


def overtaking(formula: Formula, numbers: Numbers, points: Sequence[int]) -> int | None:
    """Return the first length, between the points, at which attention is at least as large as the rest, or None."""
    attends, rest = halves(formula)

    def over(length: int) -> bool:
        put = {**numbers, S: length}
        return evaluate(attends, put, formula.id) >= evaluate(rest, put, formula.id)

    low, high = next(((a, b) for a, b in pairwise(points) if over(b) and not over(a)), (0, 0))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if over(middle) else (middle, high)
    return high or None


def _grouped(number: int | float) -> str:
    return (f"{number:,}" if isinstance(number, int) else f"{number:,.1f}").replace(",", "{,}")
