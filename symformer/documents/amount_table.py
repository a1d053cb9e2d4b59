"""A table of amounts, with the value of each and its share of the total if every size has a value."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ..language.notation.text import percent
from ..output.blocks import Line, Table
from ..views.derivation_facts import AmountFacts

Rows = list[Sequence[Line]]


def amount_table(
    head: Sequence[Line],
    align: str,
    rows: Rows,
    amounts: Sequence[AmountFacts],
    value: int | Fraction | None,
    caption: Line,
    total: bool = True,
) -> Table:
    """Return the table.

    Parameters
    ----------
    head
        The headers of the first columns, and the header of the column of values.
    align, rows
        The alignment and the cells of the first columns.
    amounts
        The amount of each row.
    value
        The total, or None if a size has no value.
    caption
        The caption.
    total
        Whether the last row is the total.

    """
    if value is None:
        return Table(head[:-1], rows, align, caption=caption)
    values: Rows = [[[f"{each.value:,}"], [percent(each.share)]] if each.share is not None else [] for each in amounts]
    filled: Rows = [[*cells, *more] for cells, more in zip(rows, values, strict=True)]
    if total:
        filled.append([["Total"], *([[]] * (len(head) - 2)), [f"{value:,}"], [percent(Fraction(1))]])
    return Table([*head, ["Share"]], filled, f"{align}rr", total=total, caption=caption)
