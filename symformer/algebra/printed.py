"""Formulas as papers print them, letter for letter, each held to ours by ``check``, or why none here answers for it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from ..architectures import composed
from ..language.errors import DerivationError
from ..language.notation.text import code
from ..models.model import Model
from ..papers import paper
from .check import Check, check
from .working import Working


@dataclass(frozen=True, kw_only=True)
class PrintedFormula:
    """One printed formula, and the target of ours that it is held to."""

    id: str  # "megatron_P"
    whose: str  # who prints it: a paper, a book, or code
    where: str  # the equation, table or file
    latex: str  # as it is printed
    paper: str = ""  # a key of papers.json; empty for what is none
    source: str = ""  # a key of sources.json, for what is no paper of papers.json
    link: str = ""  # where to find what is no paper of papers.json
    read: str = ""  # what of it is read, where that is not all as it stands
    target: str = ""  # empty where nothing here is asked
    model: Mapping[str, str] = field(default_factory=dict)  # options of the target
    sets: Mapping[str, Any] = field(default_factory=dict)  # sizes of the target, as the paper assumes them
    quantity: str = ""
    part: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)  # conventions of the quantity
    letters: str | None = None  # the paper whose letters these are
    names: Mapping[str, str] = field(default_factory=dict)  # what other names stand for
    verdict: str = ""  # as it is on file
    conventions: tuple[str, ...] = ()  # as on file
    difference: str = "0"  # ours less theirs, as on file
    because: str = ""
    correction: str = ""  # what is amiss with the formula, where something is
    working: tuple[Working, ...] = ()  # of that
    without: str = ""  # why there is no target

    @property
    def year(self) -> int:
        """The year it is from; code and books, which go on changing, stand last."""
        return paper(self.paper).year if self.paper else 9999

    @property
    def url(self) -> str:
        """Where it is printed, as far as that is known."""
        if self.paper and (number := paper(self.paper).arxiv):
            return f"https://arxiv.org/abs/{number}"
        return self.link

    @property
    def says(self) -> str:
        """The verdict on file, in words, and its reason."""
        if not self.target:
            return f"not asked: {self.without}"
        under = f" under a convention: {'; '.join(self.conventions)}" if self.conventions else ""
        said = f"equal{under}" if self.verdict == "convention" else self.verdict
        return f"{said}: {self.because}" if self.because and not self.conventions else said

    @property
    def asked(self) -> Model:
        """The model that it is held to."""
        model = composed(self.target, **self.model)
        return model.set(dict(self.sets)) if self.sets else model

    @cached_property
    def check(self) -> Check | None:
        """What comes of the check; None without a target. Raises DerivationError where that is not what is on file."""
        if not self.target:
            return None
        found = check(
            self.read or self.latex,
            self.asked,
            self.quantity,
            part=self.part,
            where=self.names,
            paper=self.letters,
            **self.options,
        )
        filed = (self.verdict, *self.conventions, self.difference)
        if filed != (made := (found.verdict, *(each.name for each in found.conventions), code(found.difference))):
            raise DerivationError(f"{self.id} is on file as {'; '.join(filed)}, and is {'; '.join(made)}")
        return found

    def to_json(self) -> dict[str, Any]:
        """As ``papers --json`` prints it: what is on file."""
        facts: dict[str, Any] = {
            "id": self.id,
            "source": self.paper or self.source,
            "whose": self.whose,
            "where": self.where,
            "url": self.url,
            "formula": self.latex,
            "verdict": self.verdict or "not asked",
            "because": self.because or self.without,
            "correction": self.correction,
        }
        if not self.target:
            return facts
        asked = {
            "read": self.read or self.latex,
            "target": self.target,
            "quantity": self.quantity,
            "part": self.part,
            "options": {**self.model, **self.options},
            "sets": dict(self.sets),
            "names": dict(self.names),
            "letters": self.letters,
            "conventions": list(self.conventions),
            "difference": self.difference,
        }
        return {**facts, **asked}


@cache
def printed() -> tuple[PrintedFormula, ...]:
    """Every printed formula on file: papers in the order of the years, then code and books."""
    place = Path(__file__).parent.parent / "papers" / "formulas.json"
    loaded: list[dict[str, Any]] = json.loads(place.read_text("utf-8"))
    found = [
        PrintedFormula(
            **{
                **facts,
                "conventions": tuple(facts.get("conventions", ())),
                "working": tuple(Working(**each) for each in facts.get("working", ())),
            }
        )
        for facts in loaded
    ]
    return tuple(sorted(found, key=lambda entry: (entry.year, entry.whose.lower())))
