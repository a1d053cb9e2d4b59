"""A breakdown: the rows of a formula, as a list that displays as a table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sympy import Expr, expand

from ..language.frozen import FrozenList
from ..language.notation.text import number, percent, text
from ..output.blocks import BriefBlock, Code, Heading, Line, Math, Paragraph, Table
from ..output.notebook import Shown
from ..output.tabular import Tabular
from . import ranks
from .operation_names import row_names

if TYPE_CHECKING:
    from .formula import Formula

MOST = 40  # rows in plain text


@dataclass(frozen=True)
class Row:
    """One entry of the breakdown."""

    path: str
    count: Expr  # copies in the whole model
    each: Expr  # the expanded total of one copy

    @property
    def total(self) -> Expr:
        return expand(self.count * self.each)


class Breakdown(FrozenList[Row], Tabular, Shown):
    """The rows of a formula, with the value and the share of each if all sizes have values."""

    def __init__(self, rows: Iterable[Row], formula: Formula) -> None:
        super().__init__(rows)
        self.formula = formula

    def __repr__(self) -> str:
        lines = [f"{row.path}: {text(row.count)} x ({text(row.each)})" for row in self[:MOST]]
        more = [f"and {len(self) - MOST} more rows"] if len(self) > MOST else []
        return "\n".join([f"<{self.formula.id}, {len(self)} rows>", *lines, *more])

    def __reduce__(self) -> Any:
        return type(self), (list(self), self.formula)

    def table(self) -> dict[str, list[Any]]:
        """Return the columns, named as in ``show --json``: path, count, formula, and value and share if it has them.

        Returns
        -------
        dict
            A list for each column: SymPy expressions, exact integers, and shares as floats.

        Examples
        --------
        >>> import symformer as sf
        >>> sf.component("mlp", bias=False).params.rows.table()
        {'path': ['up', 'act', 'down'], 'count': [1, 1, 1], 'formula': [E*H, 0, E*H]}

        """
        known = self.formula.source.known if self.formula.source is not None else {}
        found: dict[str, list[Any]] = {
            "path": [row.path for row in self],
            "count": [row.count for row in self],
            "formula": [row.each for row in self],
        }
        if known and set(self.formula.symbols) <= known.keys():
            values = [self.formula.row_total(row, known) for row in self]
            found["value"] = values
            if self.formula.additive and (whole := self.formula.value()):
                found["share"] = [float(Fraction(each) / whole) for each in values]
        return found

    def to_blocks(self) -> list[BriefBlock]:
        """Return a table of the rows."""
        formula = self.formula
        known = formula.source.known if formula.source is not None else {}
        return [
            Heading(1, [f"{formula.id}, row by row"]),
            *ranks.equations(formula.ranks, known),
            *map(Paragraph, ranks.stated(formula.ranks, known)),
            self.as_table(),
        ]

    def as_table(self) -> Table:
        """Return the rows as a table, with their total if all sizes have values.

        If most operations contribute nothing to the quantity, the table has only the rows of the others.
        """
        formula = self.formula
        known = formula.source.known if formula.source is not None else {}
        whole = formula.value() if known and set(formula.symbols) <= known.keys() else None
        shares = whole is not None and formula.additive
        head = ["row", "copies", "each"] + [formula.measure.unit] * (whole is not None) + ["share"] * shares
        rows: list[list[Line]] = []
        names = row_names(formula.root)
        for row in self:
            if formula.measure.sparse and row.each == 0:
                continue
            cells: list[Line] = [[Code(names.get(row.path, row.path))], [Math.of(row.count)], [Math.of(row.each)]]
            if whole is not None:
                amount = formula.row_total(row, known)
                cells.append([number(amount)])
                cells += [[percent(Fraction(amount) / whole if whole else Fraction(0))]] if shares else []
            rows.append(cells)
        if rows and shares and whole is not None:
            rows.append([["total"], [], [], [number(whole)], [percent(Fraction(1))]])
        return Table([[each] for each in head], rows, "lrl" + "r" * (len(head) - 3), total=shares)
