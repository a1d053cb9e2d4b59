"""One part of a model: the number of its copies, and the total of all copies."""

from __future__ import annotations

from typing import Any

from sympy import Expr, expand

from ..formulas.account import Line as AccountLine
from ..formulas.formula import Formula
from ..language.notation.text import amount, code
from ..language.sizes import evaluate
from ..models.model import Model
from ..output.blocks import Line, Math


def path_of(formula: Formula) -> str:
    """Return the path of a part in the code, or its id if the code has no name for it."""
    return formula.root.path or formula.root.key


def copies_line(model: Model, formula: Formula) -> Line:
    """Return a sentence with the number of copies of a part and the total of all copies."""
    copies, line = formula.copies, _line(formula)
    if copies == 1:
        return ["there is only one copy"]
    number = _value(copies, model)
    many: Line = [Math.of(copies), f" = {number:,}" if number is not None and copies.free_symbols else ""]
    said: Line
    if line.is_kind and line.among is not None:
        said = ["specific to ", *many, " of the ", Math.of(line.among), " layers, counted for one of them"]
    elif line.is_common:
        said = ["common to all ", *many, " layers, counted for one of them"]
    else:
        said = ["one of ", *many, " copies"]
    if not formula.additive:
        return said
    whole = _together(formula)
    value = _value(whole, model)
    known = "" if value is None or not whole.free_symbols else f" = {amount(value, formula.measure.unit)}"
    return [*said, "; together ", Math.of(whole), known]


def part_json(model: Model, formula: Formula) -> dict[str, Any]:
    """Return the copies of a part as data; ``together`` is None for a ratio, which cannot be summed."""
    whole = _together(formula) if formula.additive else None
    return {
        "id": formula.id,
        "path": path_of(formula),
        "copies": {"formula": code(formula.copies), "value": _value(formula.copies, model)},
        "together": None if whole is None else {"formula": code(whole), "value": _value(whole, model)},
    }


def _line(formula: Formula) -> AccountLine:
    """Return the line of the part in its model, with its own count."""
    within = formula.whole_account or formula.root
    return next((line for line in within.walk() if line.key == formula.root.key), formula.root)


def _together(formula: Formula) -> Expr:
    return formula.collect_totals(expand(formula.copies * formula.root.each.xreplace(formula.display_relations)))


def _value(expr: Expr, model: Model) -> int | None:
    known = model.known
    return evaluate(expr, known, "the copies") if expr.free_symbols <= known.keys() else None
