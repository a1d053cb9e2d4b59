"""A quantity under every value of each of its conventions, side by side, with who counts so."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from sympy import Expr

from ..formulas.formula import Formula
from ..language.errors import OptionError, SymformerError
from ..language.notation.text import text
from ..models.model import Model
from ..quantities import quantity as find_quantity
from .summary import value_of


@dataclass(frozen=True)
class User:
    """A paper or a tool, where it counts, and the conventions by which it does."""

    who: str
    paper: str  # a key of papers.json; empty for a tool
    where: str
    quantities: tuple[str, ...]
    uses: Mapping[str, str]


@dataclass(frozen=True)
class Alternative:
    """One value of one convention, the others as chosen; a formula, or the sentence by which it is refused."""

    convention: str
    choice: str
    chosen: bool
    formula: Formula | None
    value: int | None
    refusal: str
    users: tuple[User, ...]

    def row(self, spell: Callable[[Expr], str] = text) -> list[str]:
        """The cells of its line: convention, formula, value, users."""
        shown = spell(self.formula.written) if self.formula else f"refused: {self.refusal}"
        users = "; ".join(f"{user.who} ({user.where})" for user in self.users)
        number = "" if self.value is None else f"{self.value:,}"
        return [f"{self.convention}={self.choice}" + (" *" if self.chosen else ""), shown, number, users]

    def to_json(self) -> dict[str, Any]:
        """As ``show --conventions --json`` prints it."""
        return {
            "convention": self.convention,
            "choice": self.choice,
            "chosen": self.chosen,
            "formula": self.formula.code() if self.formula else None,
            "value": self.value,
            "refused": self.refusal,
            "used_by": [{"who": user.who, "where": user.where} for user in self.users],
        }


@cache
def users() -> tuple[User, ...]:
    """Who counts by which convention, as on file."""
    loaded: list[dict[str, Any]] = json.loads(
        (Path(__file__).parent.parent / "papers/conventions.json").read_text("utf-8")
    )
    return tuple(User(**{**facts, "quantities": tuple(facts["quantities"])}) for facts in loaded)


def alternatives(model: Model, quantity: str, given: Mapping[str, str]) -> list[Alternative]:
    """Each value of each convention of a quantity, one changed at a time. Raises OptionError where there is none."""
    question = find_quantity(quantity)
    if not question.conventions:
        raise OptionError(f"{quantity} has no conventions: it is counted in one way only")
    chosen = question.choose(given)
    found = []
    for name, convention in question.conventions.items():
        for choice in convention.meanings:
            formula, value, refusal = None, None, ""
            try:
                formula = model.formula(quantity, **{**chosen, name: choice})
                value = value_of(formula, model)
            except SymformerError as error:
                refusal = str(error)
            by = tuple(user for user in users() if quantity in user.quantities and user.uses.get(name) == choice)
            ours = chosen.get(name, convention.default) == choice
            found.append(Alternative(name, choice, ours, formula, value, refusal, by))
    return found
