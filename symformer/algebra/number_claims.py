"""Numbers published by papers, model cards and tools, each with its explanation or the reason why it has none."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

from ..architectures import composed_model
from ..language.errors import DerivationError
from ..language.printed_number import printed
from ..models.model import Model
from ..output.blocks import BriefBlock, Heading, Paragraph
from .correction_arithmetic import WorkedLine
from .explain import explain
from .explanation import Explanation


@dataclass(frozen=True, kw_only=True)
class PublishedNumber:
    """One published number, and the model and sizes with which it is compared."""

    id: str  # "gpt_2_paper_small"
    whose: str  # the source and the model it describes
    source: str  # a key of papers.json or of sources.json
    printed: str  # the number as published: "117M"
    counts: str  # the count that the source claims
    target: str = ""  # empty if the number is not checked
    quantity: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    sets: Mapping[str, int] = field(default_factory=dict)
    without: str = ""  # the reason if there is no target
    note: str = ""
    correction: str = ""  # the error in the number, or empty
    working: tuple[WorkedLine, ...] = ()  # the arithmetic of the correction, in addition to the explanation
    verdict: str = ""  # the recorded verdict

    @property
    def says(self) -> str:
        """The recorded verdict in words, and its reason."""
        words = {"convention": "counted differently", "": "not checked"}.get(self.verdict, self.verdict)
        because = self.correction or self.note or self.without
        return f"{words}: {because}" if because else words

    def to_blocks(self) -> list[BriefBlock]:
        """Return the number as published, its explanation or the reason why it has none, and notes."""
        found = self.explanation
        facts = {
            "unchecked": self.without,
            "correction": "" if self.correction in self.without else self.correction,
            "note": self.note,
        }
        return [
            Heading(1, [f"{self.whose}: {self.printed}, published as {self.counts}"]),
            *(found.to_blocks() if found else ()),
            *(Paragraph([f"{name:<10}  {said}"]) for name, said in facts.items() if said),
        ]

    def to_json(self) -> dict[str, Any]:
        """Return the recorded data as ``papers --json`` prints it."""
        return {
            "id": self.id,
            "source": self.source,
            "whose": self.whose,
            "printed": self.printed,
            "counts": self.counts,
            "target": self.target or None,
            "quantity": self.quantity,
            "options": dict(self.options),
            "sets": dict(self.sets),
            "verdict": self.verdict or "not asked",
            "because": self.note or self.without,
            "correction": self.correction,
        }

    @property
    def model(self) -> Model:
        """The model with which the number is compared."""
        model = composed_model(self.target, **self.options)
        return model.set(dict(self.sets)) if self.sets else model

    @cached_property
    def explanation(self) -> Explanation | None:
        """The explanation, or None without a target. Raises DerivationError if the verdict differs from the record."""
        if not self.target:
            return None
        found = explain(self.model, printed(self.printed), self.quantity)
        if found.verdict != self.verdict:
            raise DerivationError(f"{self.id} is recorded as {self.verdict}, but is {found.verdict}: {found.reason}")
        return found


@cache
def number_claims() -> tuple[PublishedNumber, ...]:
    """Return every published number."""
    place = files("symformer.papers") / "numbers.json"
    loaded: list[dict[str, Any]] = json.loads(place.read_text("utf-8"))
    return tuple(
        PublishedNumber(**{**facts, "working": tuple(WorkedLine(**each) for each in facts.get("working", ()))})
        for facts in loaded
    )
