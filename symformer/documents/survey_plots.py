"""Costs of a survey against a length: per token, or as a whole for a cache and for costs without a number of tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sympy import Expr, Pow, Rational, Symbol, ceiling, expand

from ..algebra.structure_profile import ENCODER, stack_names
from ..algebra.table_cells import TableCell
from ..formulas.formula import Formula
from ..language.errors import SizeError
from ..language.notation.significant import significant
from ..language.sizes import AtMost, Condition, Numbers, substitute
from ..language.symbols import B, C, P, S
from ..ledger.facts import ONE
from ..models.model import Model
from ..output.blocks import Code, FigureBlock, Line, Math, Table, capital, listed, maybe
from ..output.style import MOST
from .figures.line_plot import LinePlot, PlotLine, described
from .model_table import NO_VALUE, ModelTable

POWERS = tuple(2**power for power in range(6, 21))  # from 64 tokens to a million
STATED = (8, 12, 16, 20)  # those in the tables
FLOPS = "flops"
WHOLE = "kv-cache"  # stated for a whole sequence, because the models differ in how it grows
_UNITS = {"bytes": "B"}


@dataclass(frozen=True)
class Curves:
    """One quantity against a length, for each model that has it."""

    quantity: str
    title: str  # "forward FLOPs per token"
    length: Symbol  # S or C
    unit: str
    lines: Sequence[PlotLine]
    by_positions: bool  # whether learned positions are the reason for each length without a value

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
        caption: Line = [
            f"{capital(self.title)} at four values of the {self.meaning} ",
            Math.of(self.length),
            f"{more}.",
        ]
        return Table(head, rows, "r" * len(head), caption=caption, id=f"survey.{self.quantity}.values.{start + 1}")

    @property
    def limited(self) -> bool:
        """Whether some length has no value for some model."""
        return any(line.points[-1][0] < POWERS[-1] for line in self.lines)

    def figures(self) -> list[FigureBlock]:
        """Return the plot on logarithmic axes; nothing for more lines than can be told apart."""
        if len(self.lines) > MOST:
            return []
        axis: Line = [f"{self.meaning} ", Math.of(self.length), " (tokens)"]
        said = f"{capital(self.title)} against the {self.meaning}"
        alt = described(self.lines, said, self.unit)
        plot = LinePlot(self.lines, axis, [capital(self.title)], _UNITS.get(self.unit, self.unit), said, alt)
        caption: Line = [said, " ", Math.of(self.length), ", on logarithmic axes."]
        return [FigureBlock(plot.drawing, caption, f"survey.{self.quantity}", floats=False)]


def curves(found: ModelTable) -> list[Curves]:
    """Return each quantity that is a sum and depends on a length for at least one model."""
    made = [
        _curves(found, name, column)
        for name, column in zip(found.quantities, zip(*found.cells, strict=True), strict=True)
    ]
    return [each for each in made if each is not None]


def limits(drawn: Sequence[Curves]) -> Line:
    """Return sentences on lengths without a value, to follow those on tables and plots; empty if there are none."""
    limited = [each for each in drawn if each.limited]
    if not limited:
        return []
    by_positions = all(each.by_positions for each in limited)
    where = "beyond its learned positions" if by_positions else "where it has no formula"
    continued = " The formulas of other models are also evaluated beyond the context length of their training."
    return [f" A model has no value {where}; the tables show a dash.", *maybe(by_positions, continued)]


def _curves(found: ModelTable, name: str, column: Sequence[TableCell]) -> Curves | None:
    length = _length(found, name, column)
    if length is None:
        return None
    whole = name == WHOLE or found.divisor(name) == ONE
    lines: list[PlotLine] = []
    changes, unit, by_positions = False, "", True
    for title, model, cell in zip(found.names, found.models, column, strict=True):
        if cell.formula is None or cell.amount is None:
            continue
        expr = (cell.formula.expanded if whole else cell.amount).xreplace({B: ONE})
        points = list(_points(expr, cell.formula, model, length))
        if len(points) > 1:
            lines.append(PlotLine([Code(title)], points))
            changes |= expr.has(length)
            unit = cell.formula.measure.unit
            refused = [_refusal(cell.formula, model, length, each) for each in POWERS]
            by_positions &= all(isinstance(each, AtMost) and each.high.has(P) for each in refused if each is not None)
    if not changes:
        return None
    title = found.column_name(name).removesuffix(" per token") if whole else found.column_name(name)
    title += (
        " of one sequence" if whole and any(cell.formula and B in cell.formula.dependencies for cell in column) else ""
    )
    return Curves(name, title, length, unit, lines, by_positions)


def _length(found: ModelTable, name: str, column: Sequence[TableCell]) -> Symbol | None:
    """Return the length that a quantity is drawn against: of the sequence if it depends on that, or of the cache."""
    tokens = found.divisor(name)
    if tokens != ONE:
        return S if tokens.has(S) else C
    taken = {size for cell in column if cell.formula is not None for size in cell.formula.dependencies}
    return next((size for size in (S, C) if size in taken), None)


def _points(expr: Expr, formula: Formula, model: Model, length: Symbol) -> Iterator[tuple[int, int | Fraction]]:
    """Yield the lengths that the model supports, each with the exact value at it: powers of two, and its longest."""
    supported = [each for each in POWERS if _refusal(formula, model, length, each) is None]
    if supported and supported[-1] != POWERS[-1]:
        supported = list(dict.fromkeys([*supported, _longest(formula, model, length, supported[-1])]))
    for each in supported:
        value = substitute(expr, {**model.known, B: 1, length: each})
        if isinstance(value, Rational) and value > 0:
            yield each, Fraction(int(value.p), int(value.q))


def _refusal(formula: Formula, model: Model, length: Symbol, tokens: int) -> Condition | None:
    """Return the condition of a formula that a length violates, or None."""
    numbers: Numbers = {**model.known, B: 1, length: tokens}
    for condition in formula.constraints:
        try:
            condition.check(numbers)
        except SizeError:
            return condition
    return None


def _longest(formula: Formula, model: Model, length: Symbol, supported: int) -> int:
    """Return the longest supported length, if all shorter ones are supported too; at least a supported one."""
    low, high = supported, 2 * supported
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _refusal(formula, model, length, middle) is None else (low, middle)
    return low


def explanations(found: ModelTable) -> list[Line]:
    """Return a sentence for each reason why the forward FLOPs per token of a model fall as its sequence grows."""
    if FLOPS not in found.quantities:
        return []
    encoders: list[Line] = []
    scans: list[Line] = []
    chunks: set[Expr] = set()
    joint = False  # whether the states of all chunks are combined at once
    column = [row[found.quantities.index(FLOPS)] for row in found.cells]
    for title, model, cell in zip(found.names, found.models, column, strict=True):
        if cell.formula is None or cell.amount is None:
            continue
        values = [value for _, value in _points(cell.amount.xreplace({B: ONE}), cell.formula, model, S)]
        if len(values) < 2 or values[1] >= values[0]:
            continue
        own = {entry.chunk for _, entry in model.ledger if entry.chunk is not None}
        if ENCODER in stack_names(model.ledger.apart.root):
            encoders.append([Code(title)])
        elif any(each.has(S) and each.free_symbols & _sizes(own) for each in cell.amount.atoms(ceiling)):
            scans.append([Code(title)])
            chunks |= own
            joint |= any(each.base.has(ceiling) for each in expand(cell.formula.expr).atoms(Pow))
    said: list[Line] = []
    if encoders:
        subject, verb = ("encoders", "run") if len(encoders) > 1 else ("encoder", "runs")
        first = [
            f"The {subject} of ",
            *listed(*encoders),
            f" {verb} once, however many tokens the decoder has, so its ",
        ]
        said.append([*first, "share of the cost per token falls as ", Math.of(S), " grows."])
    if scans:
        subject, verb = ("scans", "pad") if len(scans) > 1 else ("scan", "pads")
        sizes: list[Line] = [[Math.of(each)] for each in sorted(chunks, key=str)]
        first = [f"The {subject} of ", *listed(*scans), f" {verb} a sequence to whole chunks of ", *listed(*sizes)]
        said.append([*first, " tokens, so a sequence shorter than a chunk costs more per token."])
        if joint:
            combined = "In transformers, a scan combines the states of all chunks by a matrix with a row for each chunk"
            passed = "; if it passed the state from chunk to chunk, its cost per token would be constant."
            said.append([f"{combined}, so its cost per token grows with ", Math.of(S), passed])
    return said


def _sizes(expressions: Iterable[Expr]) -> set[Symbol]:
    return {size for each in expressions for size in each.free_symbols}
