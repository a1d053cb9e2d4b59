"""Costs of a survey against a length: per token, or as a whole for a cache and for costs without a number of tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sympy import Expr, Rational, Symbol

from ..algebra.table_cells import TableCell
from ..formulas.formula import Formula
from ..language.errors import SizeError
from ..language.notation.significant import significant
from ..language.sizes import Numbers, substitute
from ..language.symbols import B, C, S
from ..ledger.facts import ONE
from ..models.model import Model
from ..output.blocks import Code, FigureBlock, Line, Math, Table, capital, plain
from ..output.style import MOST
from .figures.line_plot import LinePlot, PlotLine, described
from .model_table import NO_VALUE, ModelTable

FIRST, LAST = 6, 20  # powers of two: from 64 tokens to a million
STATED = (8, 12, 16, 20)  # those in the tables
WHOLE = "kv-cache"  # stated for a whole sequence, because the models differ in how it grows
_UNITS = {"bytes": "B"}


@dataclass(frozen=True)
class Curves:
    """One quantity against a length, for each model that has it."""

    quantity: str
    title: str  # "Forward FLOPs per token"
    length: Symbol  # S or C
    unit: str
    lines: Sequence[PlotLine]

    @property
    def meaning(self) -> str:
        return "sequence length" if self.length == S else "length of the cache"

    def tables(self) -> list[Table]:
        """Return the values at a few lengths, a few models in each table; an unsupported length has a dash."""
        groups = -(-len(self.lines) // MOST)
        step = -(-len(self.lines) // groups)
        return [self._table(self.lines[start : start + step], start) for start in range(0, len(self.lines), step)]

    def _table(self, lines: Sequence[PlotLine], start: int) -> Table:
        head: list[Line] = [[Math.of(self.length)], *(line.name for line in lines)]
        values = [dict(line.points) for line in lines]
        rows: list[Sequence[Line]] = [
            [
                [f"{length:,}"],
                *([significant(each[length], self.unit) if length in each else NO_VALUE] for each in values),
            ]
            for length in (2**power for power in STATED)
        ]
        more = " (continued)" if start else ""
        caption: Line = [f"{self.title} at four values of the {self.meaning} ", Math.of(self.length), f"{more}."]
        if any(plain(cell) == NO_VALUE for row in rows for cell in row):
            caption = [*caption, " A dash marks a length that a model does not support."]
        return Table(head, rows, "r" * len(head), caption=caption)

    def figures(self) -> list[FigureBlock]:
        """Return the plot on logarithmic axes; nothing for more lines than can be told apart."""
        if len(self.lines) > MOST:
            return []
        axis: Line = [f"{self.meaning} ", Math.of(self.length), " (tokens)"]
        said = f"{self.title} against the {self.meaning}"
        alt = described(self.lines, said, self.unit)
        plot = LinePlot(self.lines, axis, [self.title], _UNITS.get(self.unit, self.unit), said, alt)
        ends = len({line.points[-1][0] for line in self.lines}) > 1
        caption: Line = [said, " ", Math.of(self.length), ", on logarithmic axes."]
        if ends:
            caption = [*caption, " A line ends at the longest length that its model supports."]
        return [FigureBlock(plot.drawing, caption, f"survey.{self.quantity}")]


def curves(found: ModelTable) -> list[Curves]:
    """Return each quantity that is a sum and depends on a length for at least one model."""
    made = [
        _curves(found, name, column)
        for name, column in zip(found.quantities, zip(*found.cells, strict=True), strict=True)
    ]
    return [each for each in made if each is not None]


def _curves(found: ModelTable, name: str, column: Sequence[TableCell]) -> Curves | None:
    length = _length(found, name, column)
    if length is None:
        return None
    whole = name == WHOLE or found.divisor(name) == ONE
    lines: list[PlotLine] = []
    changes, unit = False, ""
    for title, model, cell in zip(found.names, found.models, column, strict=True):
        if cell.formula is None or cell.amount is None:
            continue
        expr = (cell.formula.expanded if whole else cell.amount).xreplace({B: ONE})
        points = list(_points(expr, cell.formula, model, length))
        if len(points) > 1:
            lines.append(PlotLine([Code(title)], points))
            changes |= expr.has(length)
            unit = cell.formula.measure.unit
    if not changes:
        return None
    title = found.column_name(name).removesuffix(" per token") if whole else found.column_name(name)
    title += (
        " of one sequence" if whole and any(cell.formula and B in cell.formula.dependencies for cell in column) else ""
    )
    return Curves(name, capital(title), length, unit, lines)


def _length(found: ModelTable, name: str, column: Sequence[TableCell]) -> Symbol | None:
    """Return the length that a quantity is drawn against: of the sequence if it depends on that, or of the cache."""
    tokens = found.divisor(name)
    if tokens != ONE:
        return S if tokens.has(S) else C
    taken = {size for cell in column if cell.formula is not None for size in cell.formula.dependencies}
    return next((size for size in (S, C) if size in taken), None)


def _points(expr: Expr, formula: Formula, model: Model, length: Symbol) -> Iterator[tuple[int, int | Fraction]]:
    """Yield the powers of two that the model supports as lengths, each with the exact value at it."""
    for power in range(FIRST, LAST + 1):
        numbers: Numbers = {**model.known, B: 1, length: 2**power}
        try:
            for condition in formula.constraints:
                condition.check(numbers)
        except SizeError:
            continue
        value = substitute(expr, numbers)
        if isinstance(value, Rational) and value > 0:
            yield 2**power, Fraction(int(value.p), int(value.q))
