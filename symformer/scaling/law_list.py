"""The list of the scaling laws, as `symformer optimum --laws` prints it."""

from __future__ import annotations

from typing import Any

from ..output.blocks import BriefBlock, Cited, Code, Heading, Line, Table
from .laws import scaling_law, scaling_laws


def law_blocks() -> list[BriefBlock]:
    """Return a table of the laws: name, title, what N counts, and the paper."""
    rows: list[list[Line]] = []
    for name in scaling_laws():
        law = scaling_law(name)
        rows.append([[Code(name)], [law.title], [law.formula], [law.counted], [law.where, " ", Cited(law.paper)]])
    head: list[Line] = [["law"], ["title"], ["formula"], ["N counts"], ["source"]]
    return [Heading(1, ["Scaling laws"]), Table(head, rows, "lllll")]


def laws_json() -> dict[str, Any]:
    """Return the data of all laws."""
    return {"laws": [scaling_law(name).to_json() for name in scaling_laws()]}
