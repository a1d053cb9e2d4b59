"""Formulas as papers print them, each set against the one derived here: the difference, and why there is one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sympy import Add, Expr, expand

from ..architectures import architecture
from ..language.arithmetic import parse
from ..language.errors import DerivationError
from ..language.notation.text import text
from ..language.sizes import Relations, close
from ..language.symbols import symbol
from ..papers import Paper, paper


@dataclass(frozen=True)
class Published:
    """One published formula, what it is about, and the sum of ours that answers the same question."""

    id: str  # "narayanan2021.train"
    paper: str  # a key of papers.json
    where: str  # the equation or table
    about: str
    formula: str  # as the paper has it, in our letters
    scale: str  # what one of ours is, in theirs: B*S where the paper counts a token
    given: Mapping[str, str]  # what the paper assumes: H = 4*E
    ours: tuple[Mapping[str, Any], ...]
    because: str  # what explains the difference; empty where there is none

    @property
    def source(self) -> Paper:
        """The paper."""
        return paper(self.paper)

    @property
    def relations(self) -> Relations:
        """What the paper assumes, as relations between sizes."""
        return close({symbol(name): parse(value) for name, value in self.given.items()})

    @cached_property
    def theirs(self) -> Expr:
        """The paper's formula."""
        return expand((parse(self.formula) * parse(self.scale)).xreplace(self.relations))

    @cached_property
    def derived(self) -> Expr:
        """Ours."""
        terms = []
        for facts in self.ours:
            formula = architecture(facts["target"], **facts["options"]).formula(
                facts["quantity"], **facts["conventions"]
            )
            part = formula.part(facts["part"]) if facts["part"] else formula
            terms.append(part.expanded * parse(facts["times"]))
        return expand(Add(*terms).xreplace(self.relations))

    @cached_property
    def difference(self) -> Expr:
        """Ours less theirs."""
        return expand(self.derived - self.theirs)


def published() -> list[Published]:
    """Every published formula on file, in the order of the years."""
    place = Path(__file__).parent.parent / "papers" / "published.json"
    loaded: list[dict[str, Any]] = json.loads(place.read_text("utf-8"))
    found = []
    for facts in loaded:
        stated = facts.pop("difference")
        entry = Published(**{**facts, "ours": tuple(facts["ours"])})
        if expand(entry.difference - parse(stated)) != 0:
            raise DerivationError(
                f"{entry.id} is on file as {stated} away from ours, and is {text(entry.difference)} away"
            )
        found.append(entry)
    return sorted(found, key=lambda entry: entry.source.year)
