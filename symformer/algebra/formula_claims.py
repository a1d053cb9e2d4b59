"""Published formulas, letter for letter, each with the result of ``check`` or the reason why it is not checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

from ..architectures import composed_model
from ..language.errors import DerivationError
from ..language.notation.text import code
from ..models.model import Model
from ..output.blocks import BriefBlock, Heading, Paragraph
from ..papers import paper
from .check import FormulaCheck, check
from .correction_arithmetic import WorkedLine


@dataclass(frozen=True, kw_only=True)
class PrintedFormula:
    """One published formula, and the model with which it is compared."""

    id: str  # "megatron_P"
    whose: str  # the source: a paper, a book, or code
    where: str  # the equation, table or file
    latex: str  # the formula as published
    paper: str = ""  # a key of papers.json, or empty
    source: str = ""  # a key of sources.json, for sources that are not in papers.json
    link: str = ""  # a URL, for sources that are not in papers.json
    read: str = ""  # the formula to parse, if it differs from the published one
    target: str = ""  # empty if the formula is not checked
    model: Mapping[str, str] = field(default_factory=dict)  # options of the target
    sets: Mapping[str, Any] = field(default_factory=dict)  # sizes of the target that the paper assumes
    quantity: str = ""
    part: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)  # conventions of the quantity
    letters: str | None = None  # the paper whose notation the formula uses
    names: Mapping[str, str] = field(default_factory=dict)  # the meanings of other names
    verdict: str = ""  # the recorded verdict
    conventions: tuple[str, ...] = ()  # the recorded conventions
    difference: str = "0"  # the recorded difference, ours - theirs
    because: str = ""
    correction: str = ""  # the error in the formula, or empty
    working: tuple[WorkedLine, ...] = ()  # the arithmetic of the correction
    without: str = ""  # the reason if there is no target

    @property
    def year(self) -> int:
        """The year of publication. Code and books, which keep changing, sort last."""
        return paper(self.paper).year if self.paper else 9999

    @property
    def url(self) -> str:
        """The URL of the source, or empty."""
        if self.paper and (number := paper(self.paper).arxiv):
            return f"https://arxiv.org/abs/{number}"
        return self.link

    @property
    def says(self) -> str:
        """The recorded verdict in words, and its reason."""
        if not self.target:
            return f"not checked: {self.without}"
        under = f" under a convention: {'; '.join(self.conventions)}" if self.conventions else ""
        said = f"equal{under}" if self.verdict == "convention" else self.verdict
        return f"{said}: {self.because}" if self.because and not self.conventions else said

    @property
    def asked(self) -> Model:
        """The model with which the formula is compared."""
        model = composed_model(self.target, **self.model)
        return model.set(dict(self.sets)) if self.sets else model

    @cached_property
    def check(self) -> FormulaCheck | None:
        """The result of the check, or None without a target. Raises DerivationError if it differs from the record."""
        if not self.target:
            return None
        found = check(
            self.read or self.latex,
            self.asked,
            self.quantity,
            part=self.part,
            names=self.names,
            paper=self.letters,
            **self.options,
        )
        filed = (self.verdict, *self.conventions, self.difference)
        if filed != (made := (found.verdict, *(each.name for each in found.conventions), code(found.difference))):
            raise DerivationError(f"{self.id} is recorded as {'; '.join(filed)}, but the check gives {'; '.join(made)}")
        return found

    @property
    def compared_with(self) -> str:
        """The formula with which it is compared, such as ``gpt2 flops of h.attn``, or empty."""
        part = f" of {self.part}" if self.part else ""
        return f"{self.target} {self.quantity}{part}" if self.target else ""

    def to_blocks(self) -> list[BriefBlock]:
        """Return the formula as published, the reason for its verdict, and the check."""
        found = self.check
        facts = {
            "printed": self.latex,
            "read as": self.read,
            "because" if found else "unchecked": self.because or self.without,
            "correction": self.correction,
        }
        return [
            Heading(1, [f"{self.whose}, {self.where}" + f"  {self.url}" * bool(self.url)]),
            *(Paragraph([f"{name:<10}  {said}"]) for name, said in facts.items() if said),
            *(found.to_blocks() if found else ()),
        ]

    def to_json(self) -> dict[str, Any]:
        """Return the recorded data as ``papers --json`` prints it."""
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
def formula_claims() -> tuple[PrintedFormula, ...]:
    """Return every published formula: papers by year, then code and books."""
    place = files("symformer.papers") / "formulas.json"
    loaded: list[dict[str, Any]] = json.loads(place.read_text("utf-8"))
    found = [
        PrintedFormula(
            **{
                **facts,
                "conventions": tuple(facts.get("conventions", ())),
                "working": tuple(WorkedLine(**each) for each in facts.get("working", ())),
            }
        )
        for facts in loaded
    ]
    return tuple(sorted(found, key=lambda entry: (entry.year, entry.whose.lower())))
