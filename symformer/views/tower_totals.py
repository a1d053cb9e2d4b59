"""The total of each tower of a multimodal model: vision, projector, language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sympy import Expr, expand

from ..formulas.formula import Formula
from ..language.notation.text import code, number, percent
from ..language.sizes import evaluate
from ..models.model import Model
from ..output.blocks import Line, Math, Table
from .summary import share, value_of

REST = "other"  # outside all towers, such as the projections of CLIP


@dataclass(frozen=True)
class TowerTotal:
    """The total of one tower."""

    tower: str
    total: Expr
    value: int | None


def tower_totals(model: Model, formula: Formula) -> list[TowerTotal]:
    """Return the total of each tower, which sum to the formula; empty for a ratio and for a model without towers."""
    if not formula.additive or formula.whole_account is not None or len(formula.towers) < 2:
        return []
    totals = {
        tower: formula.collect_totals(expand((line.count * line.each).xreplace(formula.display_relations)))
        for tower, line in formula.towers.items()
    }
    if (rest := expand(formula.display_expr - sum(totals.values()))) != 0:
        totals[REST] = formula.collect_totals(rest)
    known = formula.with_totals(model.known)
    return [
        TowerTotal(tower, total, evaluate(total, known, tower) if total.free_symbols <= known.keys() else None)
        for tower, total in totals.items()
    ]


def tower_table(model: Model, formula: Formula) -> list[Table]:
    """Return the table of the towers, with their shares if all sizes have values; empty if there are no towers."""
    if not (found := tower_totals(model, formula)):
        return []
    whole = value_of(formula, model)
    head = ["tower", formula.measure.title] + [formula.measure.unit, "share"] * (whole is not None)
    rows: list[list[Line]] = []
    for each in found:
        cells: list[Line] = [[each.tower], [Math.of(each.total)]]
        if whole is not None and each.value is not None:
            cells += [[number(each.value)], [percent(share(each.value, whole))]]
        rows.append(cells)
    return [Table([[name] for name in head], rows, "llrr"[: len(head)])]


def towers_json(model: Model, formula: Formula) -> dict[str, Any]:
    """Return the totals of the towers as data, or nothing for a model without towers."""
    found = [
        {"tower": each.tower, "formula": code(each.total), "value": each.value} for each in tower_totals(model, formula)
    ]
    return {"towers": found} if found else {}
