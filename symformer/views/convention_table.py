"""A quantity under every value of each of its conventions, with the papers and tools that use it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Any

from ..formulas import ranks
from ..formulas.formula import Formula
from ..language.errors import OptionError, SymformerError
from ..language.notation.text import rounded
from ..models.model import Model
from ..output.blocks import BriefBlock, Math, Paragraph, Piece, Table
from ..quantities import quantity as find_quantity
from ..quantities.quantity import COUNTED, PLACEMENT
from ..quantities.rule_sets.rule_set import RuleSetQuantity
from .summary import missing_of, value_of


@dataclass(frozen=True)
class ConventionUser:
    """A paper or a tool, the place of its count, and the conventions it uses."""

    who: str
    paper: str  # a key of papers.json; empty for a tool
    where: str
    quantities: tuple[str, ...]
    uses: Mapping[str, str]


@dataclass(frozen=True)
class Alternative:
    """One value of one convention, with the others as chosen: its formula, or the reason there is none."""

    convention: str
    choice: str
    chosen: bool
    formula: Formula | None
    value: int | None
    refusal: str
    users: tuple[ConventionUser, ...]
    missing: tuple[str, ...] = ()  # the sizes without a value, if that is why there is no result
    ranks: Mapping[str, Any] = field(default_factory=dict)  # the number of ranks, for a per-rank quantity

    def to_json(self) -> dict[str, Any]:
        """Return the alternative as printed by ``show --conventions --json``."""
        return {
            "convention": self.convention,
            "choice": self.choice,
            "chosen": self.chosen,
            "formula": self.formula.code() if self.formula else None,
            "value": self.value,
            "missing": list(self.missing),
            **self.ranks,
            "refused": self.refusal,
            "used_by": [{"who": user.who, "where": user.where} for user in self.users],
        }


def _shown(value: int | Fraction, unit: str) -> str:
    """Return a count exactly, and a ratio or a time rounded."""
    return f"{int(value):,}" if value.denominator == 1 else rounded(value, unit)


def convention_blocks(model: Model, quantity: str, found: Sequence[Alternative]) -> list[BriefBlock]:
    """Return a table of the alternatives, and lines with their numbers of ranks; one line if all have the same."""
    measure = find_quantity(quantity).measure
    rows: list[list[Piece]] = [
        [
            f"{each.convention}={each.choice}{' *' * each.chosen}",
            Math.of(each.formula.display_expr) if each.formula else f"refused: {each.refusal}",
            "" if each.value is None else _shown(each.value, measure.unit),
            "; ".join(f"{user.who} ({user.where})" for user in each.users),
        ]
        for each in found
    ]
    title = f"{model.title} ({model.target}): {measure.title}, one convention changed at a time"
    sides = [(f"{each.convention}={each.choice}", each.formula.ranks, model.known) for each in found if each.formula]
    return [
        Paragraph([f"{title}; * marks the value in use"]),
        Table.of(["convention", f"{measure.letter} =", measure.unit, "used by"], rows, "llrl"),
        *map(Paragraph, ranks.stated_of_each(sides) if sides else ()),
    ]


@cache
def users() -> tuple[ConventionUser, ...]:
    """Return the papers and tools of ``conventions.json`` with the conventions they use."""
    loaded: list[dict[str, Any]] = json.loads((files("symformer.papers") / "conventions.json").read_text("utf-8"))
    return tuple(ConventionUser(**{**facts, "quantities": tuple(facts["quantities"])}) for facts in loaded)


def alternatives(model: Model, quantity: str, given: Mapping[str, str]) -> list[Alternative]:
    """Return one alternative for each value of each convention of a quantity, changing one convention at a time.

    Rules of other tools are included if any of them answers. Raises OptionError for a quantity without conventions.
    """
    question = find_quantity(quantity)
    if not question.conventions:
        raise OptionError(f"{quantity} has no conventions: there is only one way to count it")
    chosen = question.choose(given)
    known = {name: each for name, each in question.choices.items() if name not in PLACEMENT}
    placed = {name: value for name, value in chosen.items() if name in PLACEMENT}
    if COUNTED in chosen:  # this convention determines all others
        known = {COUNTED: known[COUNTED]}
    found: list[Alternative] = []
    for name, convention in known.items():
        rows = []
        for choice in convention.meanings:
            formula, value, refusal = None, None, ""
            missing: tuple[str, ...] = ()
            try:
                conventions = {**(placed if name == COUNTED else chosen), name: choice}
                sized = model.with_sizes_for(quantity, conventions)  # such as the elements per group of a format
                formula = sized.formula(quantity, **conventions)
                value = value_of(formula, sized)
                missing = tuple(map(str, missing_of(formula, sized)))
            except SymformerError as error:
                refusal = str(error)
            by = _whose(quantity, choice) if name == COUNTED else ()
            by += tuple(user for user in users() if quantity in user.quantities and user.uses.get(name) == choice)
            here = chosen.get(name, convention.default) == choice
            shared = ranks.facts(formula.ranks, model.known) if formula else {}
            rows.append(Alternative(name, choice, here, formula, value, refusal, by, missing, shared))
        if name != COUNTED or any(each.formula for each in rows[1:]):  # other tools may have no rules for such a model
            found += rows
    return found


def _whose(quantity: str, choice: str) -> tuple[ConventionUser, ...]:
    """Return the author of a rule set, or nothing for our own rules."""
    question = find_quantity(quantity)
    ruled = question.rule_sets.get(choice) if isinstance(question, RuleSetQuantity) else None
    return (ConventionUser(ruled.who, "", ruled.where, (quantity,), {COUNTED: choice}),) if ruled else ()
