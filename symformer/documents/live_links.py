"""The links of a live page: the rows that each part, purpose, term and box of a figure consists of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sympy import Expr, expand

from ..algebra.role_totals import leaves_by_role
from ..catalogue.measured_model import MeasuredModel
from ..catalogue.recognized_model import RecognizedModel
from ..formulas.account import Line
from ..formulas.breakdown import Row
from ..formulas.formula import Formula
from ..language.notation.display_tree import ordered_terms
from ..views.purpose_totals import terms_by_purpose
from .figures.figure import Box

Links = Mapping[str, Sequence[int]]  # the places of the rows, by name


def rows_of_parts(formula: Formula, rows: Sequence[Row]) -> Links:
    """Return the rows of each role of a model's parts; empty for a traced model, whose parts have no roles."""
    if isinstance(formula.root.part, MeasuredModel | RecognizedModel):
        return {}
    return _places(formula, rows, leaves_by_role(formula))


def rows_of_purposes(formula: Formula, rows: Sequence[Row]) -> Links:
    """Return the rows with terms of each purpose."""
    return _places(formula, rows, ((what, count, line) for what, count, line, _ in terms_by_purpose(formula)))


def rows_of_terms(formula: Formula, rows: Sequence[Row]) -> Sequence[Sequence[int]]:
    """Return the rows that contribute to each term of the polynomial, in the order in which it is printed."""
    found: dict[Expr, list[int]] = {}
    for place, row in enumerate(rows):
        for term in ordered_terms(formula.collect_totals(expand(row.count * row.each))):
            found.setdefault(term.as_coeff_Mul()[1], []).append(place)
    return [found.get(term.as_coeff_Mul()[1], []) for term in ordered_terms(formula.display_expr)]


def rows_of_box(box: Box, rows: Sequence[Row]) -> list[int]:
    """Return the rows of a box, with those that its kind of layer shares with other kinds."""
    own = {*box.paths}
    return [n for n, row in enumerate(rows) if row.path in own or any(_is_shared(row.path, path) for path in own)]


def _is_shared(path: str, own: str) -> bool:
    """Return True if a path such as layers.*.mlp equals dense_layers.*.mlp without the kind of layer."""
    layers, _, rest = path.partition(".*")
    kind, _, inside = own.partition(".*")
    return bool(rest) and rest == inside and kind.endswith(f"_{layers.rpartition('.')[2]}")


def _places(formula: Formula, rows: Sequence[Row], leaves: Iterable[tuple[str, Expr, Line]]) -> Links:
    at = {(row.path, row.count): place for place, row in enumerate(rows)}
    found: dict[str, set[int]] = {}
    for name, count, line in leaves:
        place = at.get((line.path, count.xreplace(formula.display_relations)))
        if place is not None:
            found.setdefault(name, set()).add(place)
    return {name: sorted(places) for name, places in found.items()}
