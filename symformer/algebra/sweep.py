"""Sweeps: exact values of formulas at many configs, computed in pieces so that memory use stays constant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from sympy import Expr, Symbol

from ..architectures import composed_model
from ..formulas import ranks
from ..formulas.arrays import WIDE
from ..formulas.compiled_formula import Compiled
from ..formulas.compiler import compiled_exactly, is_integral
from ..formulas.formula import Formula
from ..language.aliases import Alias, former
from ..language.errors import OptionError, SizeError, quoted
from ..language.frozen import FrozenList
from ..language.notation.text import cell, code, json_number
from ..language.symbols import named_symbol, print_order
from ..language.target import AnyTarget
from ..models.model import Model
from ..output.base_plot import Plot
from ..output.blocks import BriefBlock, Code, Heading, Line, Math, Paragraph, Table, plain
from ..quantities import canonical
from .grid import Axis, Grid, RowChunk
from .numpy_import import load_numpy
from .open_model import Given, OpenModel, Where, condition_lines
from .quantity_conditions import QuantityCondition, bracketed, quantities_in
from .result import Answer, Told, ignore_progress
from .row_evaluation import RowEvaluator, RowSource
from .row_files import RowFile
from .row_selection import Columns, Objective, ParetoFront, RowSelection, TopRows

SHOWN = 20  # rows of a printed table
LISTED = 10_000  # maximum number of rows in a JSON document
HELD = 10**8  # maximum number of rows that table() returns
WORK = 2 * 10**11  # limit on 64-bit operations per sweep: some minutes


@dataclass(frozen=True, repr=False)
class Sweep(Answer):
    """Quantities of one model over rows of sizes, computed on demand.

    Rows that violate a condition of a formula are omitted; ``rejected_by_condition`` counts them by condition.
    """

    model: Model
    formulas: tuple[Formula, ...]
    rows: RowSource
    relations: tuple[Symbol, ...] = ()  # sizes defined by others, which have columns of their own
    filters: tuple[QuantityCondition, ...] = ()
    pareto: tuple[Objective, ...] = ()
    limit: int | None = None
    sort_by: Objective | None = None
    free: Mapping[Symbol, int | None] = field(default_factory=dict)  # the sizes determined by conditions in each row
    progress: Told = field(
        default=ignore_progress, compare=False
    )  # called with the number of rows computed and their total
    rejected: Counter[str] = field(default_factory=Counter)  # the rows omitted by each condition in the last iteration

    def __post_init__(self) -> None:
        """Validate all inputs before computing. Raises OptionError, SizeError."""
        super().__post_init__()
        if self.pareto and self.limit is not None:
            raise OptionError("--pareto and --limit cannot be combined; remove one of the two")
        if self.sort_by is not None and self.limit is None:
            raise OptionError(f"--sort-by {self.sort_by.name} requires --limit, the number of rows to keep")
        for each in (*self.pareto, *([self.sort_by] if self.sort_by else [])):
            if each.name not in self.columns or each.name in self.rows.labels:
                numbers = [name for name in self.columns if name not in self.rows.labels]
                raise OptionError(f"{quoted(each.name)} is not a column; the numeric columns are {', '.join(numbers)}")
        for name in self.rows.labels:
            if name in self.quantities:
                raise OptionError(f"the label {quoted(name)} has the name of a quantity; rename the column")
        kept = self._kept()
        # the cost of a row: its quantities, conditions and columns, where a 64-bit number is one operation
        cost = self._work.cost + (len(kept.objectives) if kept else len(self.columns))
        if self.rows.count > (limit := int(WORK / cost)):
            raise SizeError(
                f"{self.model.target} would have {self.rows.count:,} rows, but this sweep can have at most "
                f"{limit:,}; use larger steps or sweep fewer sizes"
            )

    @property
    def quantities(self) -> tuple[str, ...]:
        """The names of the quantities."""
        return tuple(each.measure.name for each in self.formulas)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return (*self.rows.labels, *self.sizes, *self.quantities)

    @property
    def sizes(self) -> tuple[str, ...]:
        """The columns that are sizes."""
        return (*self.rows.names, *map(str, self.relations), *self._work.free.names)

    @property
    def kinds(self) -> dict[str, str]:
        """The type of each column: 64-bit integers, larger integers, or text."""
        wide = {name: each.peak >= WIDE for name, each in self._work.ready.items()}
        kinds = {name: "object" if wide.get(name) else "int64" for name in self.columns}
        return kinds | dict.fromkeys(self.ratios, "fraction") | dict.fromkeys(self.rows.labels, "text")

    @property
    def ratios(self) -> tuple[str, ...]:
        """The quantities whose values are exact fractions."""
        return tuple(each.measure.name for each in self.formulas if not is_integral(each))

    @property
    def largest(self) -> dict[str, int]:
        """An upper bound on the absolute values of each quantity."""
        return {name: max(map(abs, self._work.ranges[name])) for name in self.quantities}

    @property
    def numbers(self) -> dict[str, int]:
        """The sizes that are the same in all rows."""
        used = {name for each in self._compiled for name in each.symbols}
        used |= {name for each in self._compiled for held in each.program.conditions for name in held.sizes}
        known = {name: number for each in self._compiled for name, number in each.defaults.items()}
        own = used.difference(self.rows.names, map(str, self.free)) & known.keys()
        known |= self._work.free.constant
        own |= self._work.free.constant.keys()
        return {name: known[name] for name in sorted(own, key=lambda each: print_order(named_symbol(each)))}

    @cached_property
    def _compiled(self) -> tuple[Compiled, ...]:
        return tuple(map(compiled_exactly, self.formulas))

    @cached_property
    def _work(self) -> RowEvaluator:
        relations = {size: value for each in self.formulas for size, value in each.relations.items()}
        named = dict(zip(self.quantities, self._compiled, strict=True))
        free = {str(size): number for size, number in self.free.items()}
        own = {str(size): number for size, number in self.model.known.items()}
        for each in self.filters:
            for formula in each.formulas:
                relations = {
                    **{size: v for size, v in formula.relations.items() if size not in formula.fixed},
                    **relations,
                }
        return RowEvaluator(
            self.model.target, self.rows, named, relations, self.relations, self.filters, free, self.ratios, own
        )

    def _kept(self) -> RowSelection | None:
        if self.pareto:
            return ParetoFront(self.pareto)
        return None if self.limit is None else TopRows(self.sort_by or Objective(self.quantities[0]), self.limit)

    def chunks(self) -> Iterator[Columns]:
        """Yield blocks of remaining rows as columns. A Pareto front or the first rows come in one block at the end."""
        kept, done = self._kept(), 0
        self.rejected.clear()
        for piece in self.rows.chunks():
            values, allowed = self._work.computed(piece, self.rejected)
            rows = _Rows(self, piece, values)
            if kept is not None:
                if allowed is None or allowed.any():
                    kept.see([rows.whole(each.name) for each in kept.objectives], rows.at, allowed)
            elif (found := rows.all_of(allowed)) is not None:
                yield found
            done += piece.count
            self.progress(done, self.rows.count)
        if kept is not None and kept.found:
            yield kept.found

    def table(self) -> Columns:
        """Return all remaining rows, one array per column. Raises OptionError if there are too many for memory."""
        import numpy

        found: list[Columns] = []
        held = 0
        for each in self.chunks():
            found.append(each)
            held += len(next(iter(each.values())))
            if held > HELD:
                raise OptionError(f"more than {HELD:,} rows remain; iterate over chunks() instead")
        if not found:
            kinds = {name: "int64" if kind == "int64" else "object" for name, kind in self.kinds.items()}
            return {name: numpy.empty(0, kind) for name, kind in kinds.items()}
        return {name: numpy.concatenate([each[name] for each in found]) for name in self.columns}

    @property
    def rejected_by_condition(self) -> dict[str, int]:
        """The number of rows omitted by each condition in the last iteration."""
        return dict(sorted(self.rejected.items(), key=lambda each: (-each[1], each[0])))

    @cached_property
    def first_rows(self) -> tuple[list[list[int | str | Fraction]], int]:
        """The first rows, up to the limit of a JSON document, and the number of all rows."""
        rows: list[list[int | str | Fraction]] = []
        count = 0
        for each in self.chunks():
            count += len(each[self.columns[0]])
            if len(rows) < LISTED:
                room = LISTED - len(rows)
                rows += zip(*(each[name][:room].tolist() for name in self.columns), strict=True)  # type: ignore[arg-type]
        return FrozenList(rows), count

    def to_json(self) -> dict[str, Any]:
        """Return the sweep as ``sweep --json`` prints it. Raises OptionError if it has too many rows."""
        rows, count = self.first_rows
        if count > LISTED:
            raise OptionError(
                f"{count:,} rows remain, but a JSON document has at most {LISTED:,}; write them to a file with -o, or "
                "keep fewer with --filter, --pareto or --limit"
            )
        return {
            "target": self.model.target,
            "quantities": [
                {"name": each.measure.name, "unit": each.measure.unit, "conventions": dict(each.conventions)}
                | {"formula": code(each.display_expr), **ranks.facts(each.ranks, self.model.known)}
                for each in self.formulas
            ],
            "given": self.numbers,
            "where": {str(size): code(value) for size, value in self._definitions.items()},
            "free": list(self._work.free.names),
            "configs": self.rows.count,
            "left_out": self.rejected_by_condition,
            "pareto": [str(each) for each in self.pareto],
            "columns": list(self.columns),
            "rows": [[each if isinstance(each, str) else json_number(each) for each in row] for row in rows],
        }

    @property
    def _definitions(self) -> dict[Symbol, Expr]:
        every = {size: value for each in self.formulas for size, value in each.relations.items()}
        return {size: every[size] for size in self.relations}

    def rank_lines(self) -> list[Line]:
        """Return the number of ranks of each quantity if the values are per rank."""
        sides = [(each.measure.name, each.ranks, self.model.known) for each in self.formulas]
        return ranks.stated_of_each(sides)

    def _conditions(self) -> list[Line]:
        """Return the lines above the table: fixed sizes, definitions, conventions and ranks."""
        names = self._work.free.names
        found = condition_lines(self.numbers, self._definitions, self.free, names, self.formulas)
        return list({plain(line): line for line in [*found, *self.rank_lines()]}.values())

    def count_lines(self, rows: int) -> list[str]:
        """Return a line with the number of remaining rows, and one for each condition that omitted some."""
        found = [f"{rows:,} of {self.rows.count:,} configs"]
        if self.pareto:
            found[0] += f" on the Pareto front of {' and '.join(map(str, self.pareto))}, the first of equal rows"
        found += [
            f"skipped: {number:,} that violate the condition {said!r}"
            for said, number in self.rejected_by_condition.items()
        ]
        return found

    def _picture(self, by: str) -> Plot:
        from .result_plots.sweep_plot import draw

        return draw(self)

    def __repr__(self) -> str:
        return f"<{', '.join(self.quantities)} of {self.model.target} over {self.rows.count:,} configs>"

    def to_blocks(self) -> list[BriefBlock]:
        """Return the conditions of the sweep, a table of its first rows, and the number of rows."""
        rows, count = self.first_rows
        titles = " and ".join(each.measure.title for each in self.formulas)
        found: list[BriefBlock] = [
            Heading(1, [f"{self.model.title} ({self.model.target}): {titles}"]),
            *map(Paragraph, self._conditions()),
        ]
        if rows:
            head = [[Math.of(named_symbol(name)) if name in self.sizes else Code(name)] for name in self.columns]
            units = {each.measure.name: each.measure.unit for each in self.formulas}
            cells = [
                [
                    [each if isinstance(each, str) else cell(each, units.get(name, ""))]
                    for name, each in zip(self.columns, row, strict=True)
                ]
                for row in rows[:SHOWN]
            ]
            align = "".join("l" if name in self.rows.labels else "r" for name in self.columns)
            found.append(Table(head, cells, align))
        if count > SHOWN:
            found.append(Paragraph([f"and {count - SHOWN:,} more; a file has all of them"]))
        return [*found, *(Paragraph([line]) for line in self.count_lines(count))]

    # Former names
    blocks = Alias("chunks")
    left_out = Alias("rejected_by_condition")
    counted = Alias("count_lines")
    where = Alias("relations")
    top = Alias("limit")
    by = Alias("sort_by")


@dataclass(frozen=True)
class _Rows:
    """The columns of a piece, flat."""

    sweep: Sweep
    piece: RowChunk
    values: Mapping[str, Any]

    def whole(self, name: str) -> Any:
        """Return one column, for all rows."""
        return self.at(None, (name,))[name]

    def at(self, places: Any, names: Sequence[str] = ()) -> Columns:
        """Return the columns of the rows at some indices, or of all rows for None."""
        both = RowChunk({**self.piece.arrays, **self.values, **self.piece.labels}, self.piece.shape)
        found = {}
        for name in names or self.sweep.columns:
            if name in self.sweep._work.where:
                known = {each: both.column(each, places) for each in self.sweep.rows.names}
                value, _ = self.sweep._work.where[name].evaluate_with_mask(
                    **known
                )  # may be a fraction in an omitted row
                found[name] = value if names else value.astype("int64")
            else:
                found[name] = both.column(name, places)
        return found

    def all_of(self, allowed: Any) -> Columns | None:
        """Return the columns of the remaining rows, or None if there are none."""
        if allowed is None:
            return self.at(None)
        places = allowed.nonzero()[0]
        return self.at(places) if len(places) else None


def _rows(over: Mapping[str, object] | RowSource | str, model: Model) -> RowSource:
    if isinstance(over, str):
        return RowFile.open(over, model.settable)
    if isinstance(over, Mapping):
        return Grid(tuple(Axis.of(model.size_name(name), values) for name, values in over.items()))
    if isinstance(over, Grid):
        return Grid(tuple(replace(axis, size=named_symbol(model.size_name(str(axis.size)))) for axis in over.axes))
    return over


def _objective(argument: str, model: Model) -> Objective:
    read = Objective.read(argument)
    return replace(read, name=model.size_name(read.name))


@former(given="sizes", where="relations", top="limit", by="sort_by")
def sweep(
    target: Model | AnyTarget,
    /,
    grid: Mapping[str, object] | RowSource | str | None = None,
    quantity: str | Sequence[str] = "params",
    *,
    sizes: Given = None,
    relations: Where = None,
    filters: Iterable[str] = (),
    pareto: Iterable[str] = (),
    limit: int | None = None,
    sort_by: str | None = None,
    per: str | None = None,
    **conventions: Any,
) -> Sweep:
    """Compute quantities of a model over a grid of sizes, or over the rows of a file.

    Parameters
    ----------
    target
        A model or its name.
    grid
        The values of each size, such as ``{"L": [12, 24]}``, or the name of a .csv, .parquet or .jsonl file.
    quantity
        One or more quantities, or expressions such as ``"kv-cache(llama-2-7b)/kv-cache"``.
    sizes
        Numbers or expressions for other sizes.
    relations
        Sizes defined by others, such as ``{"H": "4*E"}`` or ``{"N_tok": "20*params"}``.
    filters
        Conditions on the rows, such as ``"params <= 7e9"`` or ``"inference-memory(C=4096, B=1) <= 80GB"``.
    pareto
        Two or more columns or expressions whose Pareto front is kept; the prefix ``max:`` maximizes a column.
    limit, sort_by
        The number of rows to keep, and the column or expression that sorts them: ascending, or descending with the
        prefix ``max:``.
    per
        An expression that every quantity is divided by, such as ``"params"``.
    conventions
        Conventions of the quantities.

    Returns
    -------
    Sweep
        ``table()`` has one array for each column; ``chunks()`` yields the rows in parts.

    Raises
    ------
    SizeError, OptionError, UnknownNameError
        If the arguments do not fit together, before the first row is computed.

    Examples
    --------
    >>> found = sweep("gpt2", {"E": "768:1536:768", "L": [12, 24]}, relations={"P": "E"})
    >>> [list(map(int, row)) for row in zip(*found.table().values())][::3]
    [[768, 12, 768, 12, 124243200], [1536, 24, 1536, 12, 759513600]]

    """
    if grid is None:
        grid = conventions.pop("over", None)  # its former name, unless it is a convention next to a grid
    if grid is None:
        raise SizeError("a sweep needs at least one size; give a grid, such as {'L': [12, 24]}, or a file")
    model = composed_model(target)
    rows = _rows(grid, model)
    if not rows.names:
        raise SizeError("a sweep needs at least one size, such as E=512:8192:128")
    asked = (quantity,) if isinstance(quantity, str) else quantity
    names = tuple(dict.fromkeys(canonical(name) if isinstance(name, str) else name for name in asked))
    load_numpy()
    if per is not None:
        names = tuple(f"{bracketed(name)}/{bracketed(per)}" for name in names)
    objectives = [_objective(each, model) for each in (*pareto, *([] if sort_by is None else [sort_by]))]
    relations = dict(relations or {})
    columns = {*names, *rows.names, *rows.labels, *relations}
    more = (each.name for each in objectives if each.name not in columns and quantities_in(each.name))
    names = tuple(dict.fromkeys([*names, *more]))
    posed = OpenModel.of(model, rows.names, names, sizes, relations, conventions, filters, has_columns=True)
    return Sweep(
        posed.model,
        posed.formulas,
        rows,
        tuple(posed.relations),
        posed.conditions,
        tuple(objectives if sort_by is None else objectives[:-1]),
        limit,
        None if sort_by is None else objectives[-1],
        posed.free,
    )
