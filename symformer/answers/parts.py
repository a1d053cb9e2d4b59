"""A part of a model, of which a formula counts one copy: how many there are, and what they come to together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sympy import Expr, expand

from ..formulas.account import Line
from ..formulas.formula import Formula
from ..language.notation.text import code, text
from ..language.sizes import evaluate
from ..models.model import Model
from .summary import amount


def path_of(formula: Formula) -> str:
    """What a part is called in the code; by its id, what no code has a name for."""
    return formula.root.path or formula.root.key


def copies_line(model: Model, formula: Formula, spell: Callable[[Expr], str] = text) -> str:
    """Of how many copies a formula is of one, in words, and what all of them come to."""
    copies, line = formula.copies, _line(formula)
    if copies == 1:
        return "one copy is all there is"
    number = _value(copies, model)
    many = spell(copies) + (f" = {number:,}" if number is not None and copies.free_symbols else "")
    if line.among is not None:
        said = f"what {many} of the {spell(line.among)} layers have of their own, in one of them"
    elif line.count in formula.totals:
        said = f"what all {many} layers have alike, in one of them"
    else:
        said = f"one of {many} copies"
    if not formula.additive:
        return said
    whole = _together(formula)
    value = _value(whole, model)
    return f"{said}; together {spell(whole)}" + (
        f" = {amount(value, formula.measure.unit)}" if value is not None and whole.free_symbols else ""
    )


def part_json(model: Model, formula: Formula) -> dict[str, Any]:
    """The same as data; a ratio does not add up, so its copies come to nothing together."""
    whole = _together(formula) if formula.additive else None
    return {
        "id": formula.id,
        "path": path_of(formula),
        "copies": {"formula": code(formula.copies), "value": _value(formula.copies, model)},
        "together": None if whole is None else {"formula": code(whole), "value": _value(whole, model)},
    }


def _line(formula: Formula) -> Line:
    """The part where it stands in the model, with its own count."""
    within = formula.within or formula.root
    return next((line for line in within.walk() if line.key == formula.root.key), formula.root)


def _together(formula: Formula) -> Expr:
    return formula.gathered(expand(formula.copies * formula.root.each.xreplace(formula.simplified)))


def _value(expr: Expr, model: Model) -> int | None:
    known = model.known
    return evaluate(expr, known, "the copies") if expr.free_symbols <= known.keys() else None
