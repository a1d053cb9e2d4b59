"""Published formulas and numbers by source, with their recorded verdicts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from ..output.blocks import BriefBlock, Paragraph, Table
from ..papers import papers
from .formula_claims import PrintedFormula, formula_claims
from .number_claims import PublishedNumber, number_claims


@dataclass(frozen=True)
class Publication:
    """A paper, a book, a model card or code, by its key."""

    id: str
    title: str
    formulas: tuple[PrintedFormula, ...]
    numbers: tuple[PublishedNumber, ...]

    @property
    def entries(self) -> tuple[PrintedFormula | PublishedNumber, ...]:
        """All formulas and numbers of the source."""
        return (*self.formulas, *self.numbers)

    @property
    def amiss(self) -> int:
        """The number of entries with a correction."""
        return sum(bool(each.correction) for each in self.entries)

    def to_blocks(self) -> list[BriefBlock]:
        """Return the title, a table of the formulas, and a table of the numbers."""
        found: list[BriefBlock] = [Paragraph([self.title])]
        if self.formulas:
            rows = [[each.id, each.where, each.compared_with, each.says] for each in self.formulas]
            found.append(Table.of(["formula", "where", "compared with", "verdict"], rows, "llll"))
        if self.numbers:
            head = ["number", "where", "printed", "published as", "compared with", "verdict"]
            rows = [[each.id, each.whose, each.printed, each.counts, each.target, each.says] for each in self.numbers]
            found.append(Table.of(head, rows, "llllll"))
        return found


@cache
def publications() -> dict[str, Publication]:
    """Return every source by its id: papers by year, then books, model cards and code."""
    other: dict[str, str] = json.loads((files("symformer.papers") / "sources.json").read_text("utf-8"))
    known = {
        key: f"{found.short}, {found.title}" for key, found in sorted(papers().items(), key=lambda each: each[1].year)
    }
    found = {}
    for key, title in {**known, **other}.items():
        formulas = tuple(each for each in formula_claims() if (each.paper or each.source) == key)
        counts = tuple(each for each in number_claims() if each.source == key)
        if formulas or counts:
            found[key] = Publication(key, title, formulas, counts)
    return found
