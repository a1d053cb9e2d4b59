"""The subject of a document in words: the name of the target, and the changes to what that name stands for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sympy import Expr, Integer, Symbol

from ..components.base import spell_option
from ..formulas.formula import Formula
from ..language.notation.text import text
from ..language.symbols import RANK, letter
from ..language.target import name_of
from ..models.model import Model
from ..output.blocks import Code, Line, Math, Piece, listed
from ..quantities import quantity as find_quantity
from ..quantities.quantity import PLACEMENT


def in_title(model: Model, measures: str, formulas: Sequence[Formula]) -> str:
    """Return a document's title: the model, its options, the sizes changed from its target, and the conventions."""
    options = _listed(model.component.chosen)
    named = model.provenance.numbers  # setting sizes does not change a target that has no sizes
    sizes = [f"{size} = {text(value)}" for size, value in _changed(model).items() if named or not value.is_Integer]
    changed = f" with {_and(sizes)}" if sizes else ""
    return f"{model.title}{_in_brackets(options)}{changed}: {measures}{counted_by(formulas)} in closed form"


def counted_by(formulas: Sequence[Formula]) -> str:
    """Return the non-default conventions in brackets, or "" if all are defaults."""
    counted: dict[str, str] = {}
    for formula in formulas:
        usual = find_quantity(formula.measure.name).choose({})
        counted |= {name: value for name, value in formula.conventions.items() if usual.get(name) != value}
    return _in_brackets(_listed(counted))


def placed(formula: Formula) -> bool:
    """Return True if a formula is per rank, whether the ranks divide the model or only its data."""
    conventions = formula.conventions
    return any(name in PLACEMENT for name in conventions) or conventions.get("data", "off") != "off"


@dataclass(frozen=True)
class Subject:
    """The subject of the numbers in a chapter: a model and one of its formulas."""

    model: Model
    formula: Formula

    @property
    def placed(self) -> bool:
        """Return True if the formula is per rank."""
        return placed(self.formula)

    @property
    def changed(self) -> bool:
        """Return True if anything except the run's sizes differs from what the target's name stands for."""
        return self.placed or bool(self._options or _changed(self.model))

    @property
    def column(self) -> str:
        """The header of a column of its numbers."""
        return "Value" if self.changed or not self.model.known else self.name

    @property
    def name(self) -> str:
        """The target's own name."""
        return name_of(self.model.target)

    @property
    def read_at(self) -> Line:
        """A sentence with the commit of the Hub repository that the sizes come from; empty for other targets."""
        commit = self.model.provenance.commit
        if not commit:
            return []
        file = Code("config.json")
        return ["The sizes of ", Code(self.name), " come from its ", file, " at commit ", Code(commit), "."]

    @property
    def assumed(self) -> Line:
        """A sentence on how its config was read, such as values assumed for omitted fields; empty if there are none."""
        said = self.model.provenance.notes
        return ["Notes on its ", Code("config.json"), f": {'; '.join(said)}."] if said else []

    @property
    def line(self) -> Line:
        """Its name in a sentence with everything set: gpt2 with E = 1,024, one rank of llama-2-70b with N_tp = 8."""
        pieces: list[Piece] = ["one rank of " if self.placed else "", Code(self.name)]
        known = self.model.known
        sizes = _changed(self.model)
        sizes |= {size: Integer(known[size]) for size in self.formula.symbols if letter(size).run and size in known}
        notes: list[Line] = [[Code(option)] for option in self._options]
        notes += [[Math.of(size), " = ", *_spelt(sizes[size])] for size in sorted(sizes, key=RANK.__getitem__)]
        return [*pieces, *([" with ", *listed(*notes)] if notes else [])]

    @property
    def _options(self) -> list[str]:
        """The options that differ from the target's."""
        ours, own = self.model.component.chosen, self.model.provenance.options
        component = self.model.component
        usual = {name: spell_option(getattr(component, name)) for name in component.choices() if name in own}
        return _listed({name: value for name, value in {**usual, **ours}.items() if own.get(name) != value})


def _changed(model: Model) -> dict[Symbol, Expr]:
    """Return the sizes and relations of the model (not of a run) that differ from its target's."""
    own = model.provenance.numbers
    between = model.provenance.relations if own else model.component.relations
    found: dict[Symbol, Expr] = {
        size: Integer(number)
        for size, number in model.numbers.items()
        if not letter(size).run and own.get(size) != number
    }
    found |= {size: value for size, value in model.relations.items() if between.get(size) != value}
    return {size: found[size] for size in sorted(found, key=RANK.__getitem__)}


def _spelt(value: Expr) -> Line:
    return [text(value)] if value.is_Integer else [Math.of(value)]


def _listed(options: dict[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in options.items()]


def _in_brackets(words: Sequence[str]) -> str:
    return f" ({', '.join(words)})" if words else ""


def _and(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
