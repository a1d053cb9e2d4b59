"""The output for one formula: its value, its notes, and its JSON document."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from sympy import Symbol

from ..formulas import ranks
from ..formulas.breakdown import Row
from ..formulas.formula import Formula
from ..language.errors import it_or_each
from ..language.notation.text import code, json_number
from ..language.sizes import Numbers
from ..language.symbols import letter
from ..models.model import Model
from ..models.unused_conventions import unused_convention_notes
from ..output.blocks import Line
from ..quantities import quantity as find_quantity


def show_json(model: Model, formula: Formula) -> dict[str, Any]:
    """Return the document that ``show --json`` prints. In the breakdown, ``value`` is ``count`` times ``formula``.

    A ratio that is not an integer is a string of two integers, "p/q". Each of its rows is a separate ratio.
    """
    numbers = model.known
    return {
        "target": model.target,
        **config_commit(model),
        "architecture": model.id,
        "quantity": formula.measure.name,
        "unit": formula.measure.unit,
        **({"basis": basis} if (basis := find_quantity(formula.measure.name).basis_for(formula)) else {}),
        "conventions": conventions(model, formula),
        "notes": notes(model, formula),
        "formula": formula.code(),
        "latex": formula.latex(),
        "symbols": {str(name): number for name, number in numbers.items()},
        "value": json_number(value_of(formula, model)),
        "missing": [str(size) for size in missing_of(formula, model)],
        **ranks.facts(formula.ranks, numbers),
        "breakdown": [
            {
                "path": row.path,
                "count": code(row.count),
                "formula": code(row.each),
                "value": _row_value(formula, row, numbers),
            }
            for row in formula.rows
        ],
    }


def _row_value(formula: Formula, row: Row, numbers: Numbers) -> int | str | None:
    return json_number(formula.row_total(row, numbers)) if row.total.free_symbols <= numbers.keys() else None


def config_commit(model: Model) -> dict[str, str]:
    """Return the commit of the config of a Hub model, or nothing for any other model."""
    return {"commit": model.provenance.commit} if model.provenance.commit else {}


def conventions(model: Model, formula: Formula) -> dict[str, str]:
    """Return the conventions of the quantity and the non-default options of the model."""
    return {**formula.conventions, **model.component.changed_options}


def notes(model: Model, formula: Formula) -> list[str]:
    """Return notes on a value: how states are stored, and which given sizes and conventions have no effect."""
    return [*find_quantity(formula.measure.name).notes_for(formula), *unused_notes(model, model.known, formula)]


def unused_notes(model: Model, known: Numbers, formula: Formula) -> list[str]:
    """Return a sentence for each given size and each convention that has no effect on this model."""
    return [*unused_size_notes(known, formula), *unused_convention_notes(model, formula)]


def unused_size_notes(known: Numbers, formula: Formula) -> list[str]:
    """Return a sentence for each given size that defines the quantity but has no effect on this model."""
    unused = formula.defining_sizes - formula.dependencies
    return [
        f"{size} = {number:,} ({letter(size).meaning}) has no effect: {formula.id} is the same for every {size}."
        for size, number in known.items()
        if size in unused
    ]


def remarks(model: Model, formula: Formula) -> list[Line]:
    """Return the number of ranks and the notes."""
    return [*ranks.stated(formula.ranks, model.known), *([note] for note in notes(model, formula))]


def missing_of(formula: Formula, model: Model) -> tuple[Symbol, ...]:
    """Return the sizes of a formula without a value, in the order of the alphabet."""
    return tuple(size for size in formula.symbols if size not in model.known)


def missing_line(missing: Sequence[Symbol], hint: str = "") -> str:
    """Return a sentence that names the sizes without a value and how to set them."""
    return f"no value for {', '.join(map(str, missing))}: set {it_or_each(missing)} with --set{hint}"


def value_of(formula: Formula, model: Model) -> int | None:
    """Return the value, or None if a size has no value."""
    return None if missing_of(formula, model) else formula.value(model.known)


def share(part: int | Fraction, whole: int | Fraction) -> Fraction:
    """Return a part divided by the whole, exactly."""
    return Fraction(part) / whole if whole else Fraction(0)
