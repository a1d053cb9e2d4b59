"""The total for each purpose of a quantity: weights, cache, logits, … of memory; matrices, attention, … of FLOPs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sympy import Expr, Integer, expand

from ..formulas.account import Line, Term
from ..formulas.formula import Formula
from ..language.notation.text import code, number, percent, rounded
from ..language.sizes import evaluate
from ..ledger.facts import ATTENDING, OperationKind
from ..models.model import Model
from ..output.blocks import Line as Cells
from ..output.blocks import Math, Table
from .summary import share, value_of

MATRICES, ATTENTION, ELEMENTS = "matrices", "attention", "element by element"
CARRIED = {
    OperationKind.SCAN: "state-space scan",
    OperationKind.DELTA_RULE: "delta rule",
    OperationKind.RECURRENCE: "recurrence",
}


@dataclass(frozen=True)
class PurposeTotal:
    """The total of one purpose."""

    purpose: str
    total: Expr
    value: int | None  # None if a size has no value


def purpose_totals(model: Model, formula: Formula) -> list[PurposeTotal]:
    """Return the total of each purpose of a number of bytes, which sum to the formula; empty if there is only one."""
    found = purposes(formula) if formula.additive and formula.measure.unit == "bytes" else {}
    if len(found) < 2:
        return []
    known = formula.with_totals(model.known)
    return [
        PurposeTotal(what, total, evaluate(total, known, what) if total.free_symbols <= known.keys() else None)
        for what, total in found.items()
    ]


def purpose_table(model: Model, formula: Formula, memory: int | None = None) -> list[Table]:
    """Return the table of the purposes, with their shares of the total and of a device; empty without purposes."""
    if not (found := purpose_totals(model, formula)):
        return []
    whole = value_of(formula, model)
    known = whole is not None
    head = ["purpose", "formula"]
    head += [formula.measure.unit, "rounded", "share"] * known + ["share of device"] * (known and memory is not None)
    rows: list[list[Cells]] = []
    for each in found:
        cells: list[Cells] = [[each.purpose], [Math.of(each.total)]]
        rows.append([*cells, *_amounts(each.value, whole, memory)])
    if known:
        rows.append([["total"], [], *_amounts(int(whole or 0), whole, memory)])
    return [Table([[name] for name in head], rows, "llrlrr"[: len(head)])]


def _amounts(value: int | None, whole: int | Fraction | None, memory: int | None) -> list[Cells]:
    """Return the bytes, in GB and GiB, as a share of the total, and as a share of a device."""
    if value is None or whole is None:
        return []
    cells: list[Cells] = [[number(value)], [rounded(value, "bytes")], [percent(share(value, whole))]]
    return [*cells, *([[percent(Fraction(value, memory))]] if memory is not None else [])]


def purposes_json(model: Model, formula: Formula) -> dict[str, Any]:
    """Return the totals of the purposes as data, or nothing for a quantity with one purpose."""
    found = [
        {"purpose": each.purpose, "formula": code(each.total), "value": each.value}
        for each in purpose_totals(model, formula)
    ]
    return {"purposes": found} if found else {}


def purposes(formula: Formula) -> dict[str, Expr]:
    """Return the amount for each purpose of a quantity; the amounts sum to the formula.

    >>> import symformer as sf
    >>> {what: str(each) for what, each in purposes(sf.architecture("gpt2").formula("flops", attention="full")).items()}
    {'matrices': '24*B*E**2*L*S + 2*B*E*S*V', 'attention': '4*B*E*L*S**2'}
    """
    found: dict[str, Expr] = {}
    for what, count, _, term in terms_by_purpose(formula):
        found[what] = found.get(what, Integer(0)) + count * term.expr
    if "" in found:
        return {}
    sums = {
        what: formula.collect_totals(expand(each.xreplace(formula.display_relations))) for what, each in found.items()
    }
    return {what: each for what, each in sums.items() if each != 0}


def terms_by_purpose(formula: Formula) -> Iterator[tuple[str, Expr, Line, Term]]:
    """Yield every term with its purpose, its number of copies, and the line of its operation."""
    for count, line in formula.root.leaves():
        for term in line.terms:
            yield _purpose(line, term, formula.measure.unit), count, line, term


def _purpose(line: Line, term: Term, unit: str) -> str:
    if term.purpose or unit not in ("FLOPs", "MACs") or line.entry is None:
        return term.purpose
    if line.entry.kind in ATTENDING:
        return ATTENTION
    if line.entry.kind in CARRIED:
        return CARRIED[line.entry.kind]
    return (
        MATRICES
        if line.entry.kind in (OperationKind.LINEAR, OperationKind.EXPERTS, OperationKind.CONVOLUTION)
        else ELEMENTS
    )
