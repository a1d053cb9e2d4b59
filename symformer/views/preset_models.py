"""The presets of a model's architecture that examples use, and those that have one of its formulas."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from sympy import Integer

from ..architectures import architecture, presets_like, presets_of
from ..architectures.base_architecture import Architecture
from ..components.base import Component
from ..formulas.formula import Formula
from ..language.errors import SymformerError
from ..language.sizes import Numbers
from ..language.symbols import letter
from ..models.model import Model


def with_numbers(model: Model) -> Model:
    """Return the model if it has numbers; else its first preset with these options, in the same run, for examples."""
    if not all(letter(size).run for size in model.known) or not isinstance(model.component, Architecture):
        return model
    for preset in presets_with(model.component):
        if preset.relations == model.relations:
            return preset.set({size: Integer(number) for size, number in model.numbers.items()})
    return model


@cache
def presets_with(component: Architecture) -> tuple[Model, ...]:
    """Return the presets of an architecture with these options, as models; cached, since every chapter needs them."""
    return tuple(map(architecture, presets_like(component)))


def presets_sharing(model: Model, formula: Formula) -> list[Model]:
    """Return the presets of an architecture that have this formula, with or without the options of the model."""
    found: list[Model] = []
    same: dict[Component, bool] = {}
    for preset in map(architecture, presets_of(model.id)):
        if preset.component not in same:
            sibling = replace(model, component=preset.component)
            try:
                theirs = sibling.formula(formula.measure.name, **formula.conventions)
                same[preset.component] = theirs.expanded == formula.expanded
            except SymformerError:  # the quantity does not accept an option
                same[preset.component] = False
        if same[preset.component] and fits(formula, preset):
            found.append(preset)
    return found


def other_preset(shown: Model, formula: Formula) -> Model | None:
    """Return the largest other preset with this formula, or the smallest if the model shown is the largest."""
    same = [other for other in presets_with(shown.component) if fits(formula, other)]
    if len(same) < 2:
        return None
    values = [value_at(formula, other) for other in same]
    largest = same[values.index(max(values))]  # the first of several equally large
    return same[values.index(min(values))] if largest.known == shown.known else largest


def example_of(variant: Model, formula: Formula, shown: Model) -> Model | None:
    """Return the source of a variant's example numbers: the model shown, or else the variant's first preset."""
    return next((model for model in (shown, *presets_with(variant.component)) if fits(formula, model)), None)


def fits(formula: Formula, preset: Model) -> bool:
    """Return True if a preset has a number for every size and satisfies the relations used to simplify the formula."""
    known = preset.known
    related = all(value.xreplace(known) == known[size] for size, value in formula.relations.items() if size in known)
    return related and set(formula.symbols) <= known.keys()


def value_at(formula: Formula, preset: Model) -> int:
    """Return the value of a formula at the sizes of another model."""
    return formula.value(_needed(formula, preset.known))


def _needed(formula: Formula, known: Numbers) -> Numbers:
    """Return the numbers that a formula, its relations or its conditions need."""
    asked = {*formula.symbols, *formula.relations, *(size for rule in formula.constraints for size in rule.symbols)}
    return {size: number for size, number in known.items() if size in asked}
