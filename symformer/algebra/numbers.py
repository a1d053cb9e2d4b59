"""Numbers as papers, model cards and tools print them, each with what it counts, or why nobody here is asked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from ..architectures import composed
from ..language.errors import DerivationError
from ..models.model import Model
from .explain import Explanation, explain
from .working import Working


@dataclass(frozen=True, kw_only=True)
class PublishedNumber:
    """One printed number, and the target and the sizes of ours that answer for it."""

    id: str  # "gpt_2_paper_small"
    whose: str  # who prints it, of what
    source: str  # a key of papers.json or of sources.json
    printed: str  # as it is printed: "117M"
    counts: str  # what it is said to count
    target: str = ""  # empty where nothing here is asked
    quantity: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    sets: Mapping[str, int] = field(default_factory=dict)
    without: str = ""  # why there is no target
    note: str = ""
    correction: str = ""  # what is amiss with the number, where something is
    working: tuple[Working, ...] = ()  # the arithmetic of what is amiss, beside that of the explanation
    verdict: str = ""  # as it is on file

    @property
    def says(self) -> str:
        """The verdict on file in words, and its reason."""
        words = {"convention": "counted otherwise", "": "not asked"}.get(self.verdict, self.verdict)
        because = self.correction or self.note or self.without
        return f"{words}: {because}" if because else words

    def to_json(self) -> dict[str, Any]:
        """As ``papers --json`` prints it: what is on file."""
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
        """The model that answers for it."""
        model = composed(self.target, **self.options)
        return model.set(dict(self.sets)) if self.sets else model

    @cached_property
    def explanation(self) -> Explanation | None:
        """What it counts; None without a target. Raises DerivationError where the verdict is not the one on file."""
        if not self.target:
            return None
        found = explain(self.model, self.printed, self.quantity)
        if found.verdict != self.verdict:
            raise DerivationError(f"{self.id} is on file as {self.verdict}, and is {found.verdict}: {found.because}")
        return found


@cache
def numbers() -> tuple[PublishedNumber, ...]:
    """Every published number on file."""
    place = Path(__file__).parent.parent / "papers" / "numbers.json"
    loaded: list[dict[str, Any]] = json.loads(place.read_text("utf-8"))
    return tuple(
        PublishedNumber(**{**facts, "working": tuple(Working(**each) for each in facts.get("working", ()))})
        for facts in loaded
    )
