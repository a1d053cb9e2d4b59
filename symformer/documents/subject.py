"""The subject of a document in words: the name of the target, and the changes to what that name stands for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sympy import Expr

from ..language.errors import joined
from ..language.notation.text import text
from ..language.symbols import print_order
from ..output.blocks import Code, Line, Math, Piece, listed
from ..views.derivation_facts import DerivationFacts
from ..views.formula_facts import SubjectFacts


def in_title(found: DerivationFacts, measures: str) -> str:
    """Return a document's title: the model, its options, the sizes changed from its target, and the conventions."""
    # Setting sizes does not change a target that has no sizes.
    sizes = [
        f"{size} = {text(value)}" for size, value in found.sizes.items() if found.has_own_sizes or not value.is_Integer
    ]
    changed = f" with {joined(sizes)}" if sizes else ""
    conventions = in_brackets(found.conventions)
    return f"{found.title}{in_brackets(found.options)}{changed}: {measures}{conventions} in closed form"


def in_brackets(values: Mapping[str, str]) -> str:
    """Return options or conventions in brackets, or "" if there are none."""
    return f" ({', '.join(f'{name}={value}' for name, value in values.items())})" if values else ""


@dataclass(frozen=True)
class Subject:
    """The subject of the numbers in a chapter, in words."""

    facts: SubjectFacts

    @property
    def name(self) -> str:
        """The target's own name."""
        return self.facts.name

    @property
    def column(self) -> str:
        """The header of a column of its numbers."""
        return "Value" if self.facts.changed or not self.facts.known else self.name

    @property
    def read_at(self) -> Line:
        """A sentence with the commit of the Hub repository that the sizes come from; empty for other targets."""
        commit = self.facts.commit
        if not commit:
            return []
        file = Code("config.json")
        return ["The sizes of ", Code(self.name), " come from its ", file, " at commit ", Code(commit), "."]

    @property
    def assumed(self) -> Line:
        """A sentence on how its config was read, such as values assumed for omitted fields; empty if there are none."""
        notes = self.facts.notes
        return ["Notes on its ", Code("config.json"), f": {'; '.join(notes)}."] if notes else []

    @property
    def line(self) -> Line:
        """Its name in a sentence with everything set: gpt2 with E = 1,024, one rank of llama-2-70b with N_tp = 8."""
        pieces: list[Piece] = ["one rank of " if self.facts.per_rank else "", Code(self.name)]
        sizes = {**self.facts.sizes, **self.facts.run}
        notes: list[Line] = [[Code(option)] for option in self.facts.options]
        notes += [[Math.of(size), " = ", *_spelt(sizes[size])] for size in sorted(sizes, key=print_order)]
        return [*pieces, *([" with ", *listed(*notes)] if notes else [])]


def _spelt(value: Expr) -> Line:
    return [text(value)] if value.is_Integer else [Math.of(value)]
