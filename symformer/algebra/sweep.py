"""A formula over many configs: every row exact, in pieces, so that memory does not grow with how many there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sympy import Expr, Symbol

from ..formulas import ranks
from ..formulas.arrays import WIDE
from ..formulas.compiled import Compiled
from ..formulas.compiling import compiled
from ..formulas.formula import Formula
from ..language.errors import OptionError, SizeError, quoted
from ..language.frozen import FrozenList
from ..language.notation.cards import Card, Cell, Name, Table
from ..language.notation.text import code, text
from ..language.notation.tree import tree
from ..language.symbols import RANK, symbol
from ..language.target import AnyTarget
from ..models.model import Model
from ..output.picture import Picture
from .answer import Answer, Told, untold
from .best import Columns, First, Front, Kept, Objective
from .filters import Filter
from .grid import Axis, Grid, Piece
from .posed import Given, Posed, Where, conventions_of, stated
from .reckoning import Rows, Work
from .rows import File

SHOWN = 20  # rows of a table that anyone would read
LISTED = 10_000  # rows of one JSON document
HELD = 10**8  # rows whose columns are handed out at once
WORK = 2 * 10**11  # limit on 64-bit operations per sweep: some minutes


@dataclass(frozen=True, repr=False)
class Sweep(Answer):
    """Quantities of one model over rows of sizes. Nothing is reckoned before it is asked for.

    A row that breaks a condition of a formula is left out and counted; ``left_out`` says how many, and by which.
    """

    model: Model
    formulas: tuple[Formula, ...]
    rows: Rows
    where: tuple[Symbol, ...] = ()  # sizes that follow others, which have a column of their own
    filters: tuple[Filter, ...] = ()
    pareto: tuple[Objective, ...] = ()
    top: int | None = None
    by: Objective | None = None
    free: Mapping[Symbol, int | None] = field(default_factory=dict)  # the sizes determined by conditions in each row
    told: Told = field(default=untold, compare=False)  # called with the rows computed and their total
    seen: Counter[str] = field(default_factory=Counter)  # of the last time it was gone through

    def __post_init__(self) -> None:
        """Look at everything before the first row. Raises OptionError, SizeError."""
        super().__post_init__()
        if self.pareto and self.top is not None:
            raise OptionError("a Pareto front and the first rows are two choices; keep one")
        if self.by is not None and self.top is None:
            raise OptionError(f"by {self.by} says which rows come first; say how many are kept")
        for each in (*self.pareto, *([self.by] if self.by else [])):
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
                f"{self.model.target} would be computed at {self.rows.count:,} rows, and this sweep can have at most "
                f"{limit:,}; use larger steps or sweep fewer sizes"
            )

    @property
    def quantities(self) -> tuple[str, ...]:
        """What is counted."""
        return tuple(each.measure.name for each in self.formulas)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of what a row has."""
        return (*self.rows.labels, *self.rows.names, *map(str, self.where), *self._work.free.names, *self.quantities)

    @property
    def kinds(self) -> dict[str, str]:
        """The type of each column: 64-bit integers, larger integers, or text."""
        wide = {name: each.peak >= WIDE for name, each in self._work.ready.items()}
        kinds = {name: "object" if wide.get(name) else "int64" for name in self.columns}
        return kinds | dict.fromkeys(self.rows.labels, "text")

    @property
    def largest(self) -> dict[str, int]:
        """What no number of a quantity's column is beyond, whatever its sign."""
        return {name: max(map(abs, self._work.ranges[name])) for name in self.quantities}

    @property
    def numbers(self) -> dict[str, int]:
        """The sizes that stay as they are in all rows."""
        used = {name for each in self._compiled for name in each.symbols}
        used |= {name for each in self._compiled for held in each.program.conditions for name in held.sizes}
        known = {name: number for each in self._compiled for name, number in each.given.items()}
        own = used.difference(self.rows.names, map(str, self.free)) & known.keys()
        known |= self._work.free.constant
        own |= self._work.free.constant.keys()
        return {name: known[name] for name in sorted(own, key=lambda each: RANK[symbol(each)])}

    @cached_property
    def _compiled(self) -> tuple[Compiled, ...]:
        return tuple(map(compiled, self.formulas))

    @cached_property
    def _work(self) -> Work:
        relations = {size: value for each in self.formulas for size, value in each.relations.items()}
        named = dict(zip(self.quantities, self._compiled, strict=True))
        free = {str(size): number for size, number in self.free.items()}
        return Work(self.model.target, self.rows, named, relations, self.where, self.filters, free)

    def _kept(self) -> Kept | None:
        if self.pareto:
            return Front(self.pareto)
        return None if self.top is None else First(self.by or Objective(self.quantities[0]), self.top)

    def blocks(self) -> Iterator[Columns]:
        """The rows that stay, as columns, some at a time: for a front or the first rows, all of them at the end."""
        kept, done = self._kept(), 0
        self.seen.clear()
        for piece in self.rows.pieces():
            values, allowed = self._work.reckoned(piece, self.seen)
            rows = _Rows(self, piece, values)
            if kept is not None:
                if allowed is None or allowed.any():
                    kept.see([rows.whole(each.name) for each in kept.objectives], rows.at, allowed)
            elif (found := rows.all_of(allowed)) is not None:
                yield found
            done += piece.count
            self.told(done, self.rows.count)
        if kept is not None and kept.found:
            yield kept.found

    def table(self) -> Columns:
        """Every row that stays, as one array a column. Raises OptionError where these are too many for memory."""
        import numpy

        found: list[Columns] = []
        held = 0
        for each in self.blocks():
            found.append(each)
            held += len(next(iter(each.values())))
            if held > HELD:
                raise OptionError(f"more than {HELD:,} rows stay; go through them by blocks()")
        if not found:
            return {name: numpy.empty(0, "object" if kind == "text" else kind) for name, kind in self.kinds.items()}
        return {name: numpy.concatenate([each[name] for each in found]) for name in self.columns}

    @property
    def left_out(self) -> dict[str, int]:
        """How many rows each condition left out, the last time the rows were gone through."""
        return dict(sorted(self.seen.items(), key=lambda each: (-each[1], each[0])))

    @cached_property
    def first(self) -> tuple[list[list[int | str]], int]:
        """The first rows, as many as are shown, and how many there are."""
        rows: list[list[int | str]] = []
        count = 0
        for each in self.blocks():
            count += len(each[self.columns[0]])
            if len(rows) < LISTED:
                room = LISTED - len(rows)
                rows += zip(*(each[name][:room].tolist() for name in self.columns), strict=True)  # type: ignore[arg-type]
        return FrozenList(rows), count

    def to_json(self) -> dict[str, Any]:
        """As ``sweep --json`` prints it. Raises OptionError where the rows are too many for one document."""
        rows, count = self.first
        if count > LISTED:
            raise OptionError(
                f"{count:,} rows stay, and one JSON document has at most {LISTED:,}; write them to a file with -o, or "
                "keep fewer by --filter, --pareto or --top"
            )
        return {
            "target": self.model.target,
            "quantities": [
                {"name": each.measure.name, "unit": each.measure.unit, "conventions": dict(each.conventions)}
                | {"formula": code(each.written), **ranks.facts(each.ranks, self.model.known)}
                for each in self.formulas
            ],
            "given": self.numbers,
            "where": {str(size): code(self._relation(size)) for size in self.where},
            "free": list(self._work.free.names),
            "configs": self.rows.count,
            "left_out": self.left_out,
            "pareto": [str(each) for each in self.pareto],
            "columns": list(self.columns),
            "rows": [list(row) for row in rows],
        }

    def _relation(self, size: Symbol) -> Expr:
        return next(each.relations[size] for each in self.formulas if size in each.relations)

    def of_ranks(self, spell: Callable[[Expr], str] = text) -> list[str]:
        """Return the number of ranks that its numbers are of one of."""
        sides = [(each.measure.name, each.ranks, self.model.known) for each in self.formulas]
        return ranks.stated_of_each(sides, spell)

    def lines(self, spell: Callable[[Expr], str] = text) -> list[str]:
        """What is said around the rows: what stays as it is, and what was left out."""
        found = []
        if self.numbers:
            found.append("with " + ", ".join(f"{name} = {number:,}" for name, number in self.numbers.items()))
        found += [f"where {size} = {text(self._relation(size))}" for size in self.where]
        found += stated(self.free, self._work.free.names)
        found += [f"{name} = {choice}" for each in self.formulas for name, choice in conventions_of(each).items()]
        return list(dict.fromkeys([*found, *self.of_ranks(spell)]))

    def counted(self, rows: int) -> list[str]:
        """How many rows there were, and why some are not among those that stay."""
        found = [f"{rows:,} of {self.rows.count:,} configs"]
        if self.pareto:
            found[0] += f" on the front of {' and '.join(map(str, self.pareto))}, the first of those alike"
        found += [
            f"left out: {number:,}, for which it does not hold that {said}" for said, number in self.left_out.items()
        ]
        return found

    @property
    def align(self) -> str:
        """Return the alignment of the columns: text left, numbers right."""
        return "".join("l" if name in self.rows.labels else "r" for name in self.columns)

    def _picture(self, by: str) -> Picture:
        from .pictures.swept import drawn

        return drawn(self)

    def __repr__(self) -> str:
        return f"<{', '.join(self.quantities)} of {self.model.target} over {self.rows.count:,} configs>"

    @property
    def card(self) -> Card:
        """The first rows."""
        rows, count = self.first
        head: list[Cell] = [tree(symbol(name)) if name in map(str, RANK) else Name(name) for name in self.columns]
        cells = [cells_of(row) for row in rows[:SHOWN]]
        more = f", of which {SHOWN} are shown" if count > SHOWN else ""
        title = f"{', '.join(self.quantities)} of {self.model.target}: {'; '.join(self.counted(count))}{more}"
        return Card(title, (), Table(head, cells, self.align), self.of_ranks())


@dataclass(frozen=True)
class _Rows:
    """The columns of a piece, flat."""

    sweep: Sweep
    piece: Piece
    values: Mapping[str, Any]

    def whole(self, name: str) -> Any:
        """A column of every row."""
        return self.at(None, (name,))[name]

    def at(self, places: Any, names: Sequence[str] = ()) -> Columns:
        """The columns of some rows, by their places; of all for None."""
        both = Piece({**self.piece.arrays, **self.values, **self.piece.labels}, self.piece.shape)
        found = {}
        for name in names or self.sweep.columns:
            if name in self.sweep._work.where:
                known = {each: both.column(each, places) for each in self.sweep.rows.names}
                value, _ = self.sweep._work.where[name].answers(**known)  # which may not be whole in a row left out
                found[name] = value if names else value.astype("int64")
            else:
                found[name] = both.column(name, places)
        return found

    def all_of(self, allowed: Any) -> Columns | None:
        """The columns of the rows that stay; None where none does."""
        if allowed is None:
            return self.at(None)
        places = allowed.nonzero()[0]
        return self.at(places) if len(places) else None


def cells_of(row: Iterable[int | str]) -> list[str]:
    """Return the cells of a table row."""
    return [each if isinstance(each, str) else f"{each:,}" for each in row]


def _rows(over: Mapping[str, object] | Rows | str) -> Rows:
    if isinstance(over, str):
        return File.open(over)
    return Grid(tuple(Axis.of(name, values) for name, values in over.items())) if isinstance(over, Mapping) else over


def sweep(
    target: Model | AnyTarget,
    grid: Mapping[str, object] | Rows | str | None = None,
    /,
    quantity: str | Sequence[str] = "params",
    *,
    given: Given = None,
    where: Where = None,
    filters: Iterable[str] = (),
    pareto: Iterable[str] = (),
    top: int | None = None,
    by: str | None = None,
    **conventions: Any,
) -> Sweep:
    """One or more quantities of a model over a grid of sizes, or over rows of them, such as those of FILE.csv.

    The grid may also be a keyword argument, as in ``over={"L": [12, 24]}``. If it is positional, ``over="step"`` is the
    convention of ``pipeline-bubble``. Raises SizeError, OptionError, UnknownNameError before the first row.

    >>> found = sweep("gpt2", {"E": "768:1536:768", "L": [12, 24]}, where={"P": "E"})
    >>> [list(map(int, row)) for row in zip(*found.table().values())][::3]
    [[768, 12, 768, 12, 124243200], [1536, 24, 1536, 12, 759513600]]
    """
    if grid is None:
        grid = conventions.pop("over", None)
    if grid is None:
        raise SizeError("a sweep needs at least one size; give a grid, such as {'L': [12, 24]}, or a file")
    rows = _rows(grid)
    if not rows.names:
        raise SizeError("a sweep needs at least one size, such as E=512:8192:128")
    names = (quantity,) if isinstance(quantity, str) else tuple(dict.fromkeys(quantity))
    posed = Posed.of(target, rows.names, names, given, where, conventions)
    units = {each.measure.name: each.measure.unit for each in posed.formulas}
    return Sweep(
        posed.model,
        posed.formulas,
        rows,
        tuple(posed.follows),
        tuple(Filter.read(each, units) for each in filters),
        tuple(map(Objective.read, pareto)),
        top,
        None if by is None else Objective.read(by),
        posed.free,
    )
