"""The examples of a formula: its presets, its value, its leading terms, and the other variants of its architecture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from operator import itemgetter

from sympy import Expr

from ..algebra.structure_difference import difference_in_words
from ..architectures import architecture, presets, presets_like, presets_of, variants
from ..architectures.base_architecture import Architecture
from ..components.base import Component, spell_option
from ..formulas.derivation import substitution
from ..formulas.formula import Formula
from ..language.errors import OptionError, RuleError, SizeError, SymformerError
from ..language.sizes import Numbers
from ..language.symbols import letter
from ..models.model import Model
from ..output.blocks import Line
from ..output.chain import Chain

LISTED = 14  # the most presets that a page lists; some architectures have a hundred


@dataclass(frozen=True)
class LeadingFacts:
    """The leading terms of a formula."""

    expr: Expr
    omitted: Fraction | None  # the share of the total that they omit
    other: tuple[str, Fraction] | None  # another preset with the share that they omit there


@dataclass(frozen=True)
class PresetFacts:
    """A preset with the formula: its value and the source of its sizes."""

    name: str
    value: int
    source: str


@dataclass(frozen=True)
class VariantFacts:
    """The formula of a variant of the model, with the value of an example."""

    options: str  # that differ from the model's
    meaning: Line | None  # the difference of structure in a few words; None if structures are not compared
    formula: Formula
    value: int | None
    example: str  # the name of the example, if it is not the subject of the chapter


@dataclass(frozen=True)
class ExampleFacts:
    """Facts that only the full form of a chapter shows: leading terms, substitution, presets and variants."""

    leading: LeadingFacts | None
    substitution: Chain | None  # from the formula to its value
    presets: tuple[PresetFacts, ...]
    more_presets: int  # that have the formula too
    sharing: tuple[str, ...]  # the names of all presets that have the formula
    variants: tuple[VariantFacts, ...]


def with_numbers(model: Model) -> Model:
    """Return the model if it has numbers; else its first preset with these options, in the same run, for examples."""
    if not all(letter(size).run for size in model.known) or not isinstance(model.component, Architecture):
        return model
    for preset in _presets_with(model.component):
        if preset.relations == model.relations:
            return replace(preset, numbers={**preset.numbers, **model.numbers}).validated()
    return model


@cache
def _presets_with(component: Architecture) -> tuple[Model, ...]:
    """Return the presets of an architecture with these options, as models; cached, since every chapter needs them."""
    return tuple(map(architecture, presets_like(component)))


def example_facts(shown: Model, formula: Formula, numbers: Numbers | None) -> ExampleFacts:
    """Return the examples of a formula.

    Parameters
    ----------
    shown
        The model, with the numbers of an example if it has none.
    formula
        A formula that is the sum of its rows.
    numbers
        The sizes of the model, or None if the formula has another size.

    """
    sharing = _presets_sharing(shown, formula) if isinstance(shown.component, Architecture) else []
    return ExampleFacts(
        leading=_leading(formula, _presets_with(shown.component), numbers),
        substitution=substitution(formula.display_expr, numbers) if numbers else None,
        presets=tuple(
            PresetFacts(preset.target, _value_at(formula, preset.known), presets()[preset.target]["source"])
            for preset in sharing[:LISTED]
        ),
        more_presets=max(len(sharing) - LISTED, 0),
        sharing=tuple(preset.target for preset in sharing),
        variants=tuple(_variants(shown, formula)),
    )


def _presets_sharing(model: Model, formula: Formula) -> list[Model]:
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
        if same[preset.component] and _fits(formula, preset.known):
            found.append(preset)
    return found


def _leading(formula: Formula, others: Sequence[Model], numbers: Numbers | None) -> LeadingFacts | None:
    """Return the leading terms; None if there are no other terms.

    Their share is stated for the numbers of the model, and for the largest other preset with this formula, or for the
    smallest if the model is the largest.
    """
    leading = formula.leading()
    if leading.rest == 0:
        return None
    if not numbers:
        return LeadingFacts(leading.expr, None, None)
    same = [(_value_at(formula, other.known), other) for other in others if _fits(formula, other.known)]
    there = None
    if len(same) > 1:
        largest = max(same, key=itemgetter(0))[1]  # the first of several equally large
        smallest = min(same, key=itemgetter(0))[1]
        other = smallest if formula.with_totals(largest.known) == numbers else largest
        there = (other.target, leading.omitted_share(formula.with_totals(other.known)))
    return LeadingFacts(leading.expr, leading.omitted_share(numbers), there)


def _variants(shown: Model, formula: Formula) -> Iterator[VariantFacts]:
    """Yield the other variants of an architecture that support the quantity: each changes one option if possible."""
    for other in _other_variants(shown):
        theirs = {name: getattr(other.component, name) for name in other.component.choices()}
        changed = {name: value for name, value in theirs.items() if getattr(shown.component, name) != value}
        if not changed:
            continue
        try:
            sibling = other.formula(formula.measure.name, **formula.conventions)
        except RuleError:  # this variant does not support the quantity
            continue
        examples = (model for model in (shown, *_presets_with(other.component)) if _fits(sibling, model.known))
        example = next(examples, None)
        yield VariantFacts(
            options=", ".join(f"{name}={spell_option(value)}" for name, value in changed.items()),
            meaning=_meaning(other.component, shown.component),
            formula=sibling,
            value=_value_at(sibling, example.known) if example else None,
            example=example.target if example and example.target != shown.target else "",
        )


def _other_variants(shown: Model) -> Iterator[Model]:
    """Yield the model with each option of the variants, or the variant where the model cannot have the option alone."""
    component = shown.component
    if not isinstance(component, Architecture):
        return
    seen: set[Component] = set()
    for options, whole in zip(component.variants, variants(shown), strict=True):
        changes = [{name: value} for name, value in options.items()]
        try:
            found = [replace(component, **change) for change in changes] if changes else [whole.component]
        except OptionError:
            found = [whole.component]
        for other in found:
            if other not in seen:
                seen.add(other)
                yield replace(shown, component=other)


def _meaning(variant: Component, shown: Component) -> Line | None:
    """Return the difference of a variant from the model in words, or None if they are not compared."""
    try:
        return difference_in_words(variant, shown)
    except OptionError:
        return None


def _fits(formula: Formula, known: Numbers) -> bool:
    """Return True if every size has a number and they satisfy the relations and the conditions of the formula."""
    related = all(value.xreplace(known) == known[size] for size, value in formula.relations.items() if size in known)
    if not (related and set(formula.symbols) <= known.keys()):
        return False
    try:
        _value_at(formula, known)
    except SizeError:  # such as a GGUF file of a model with other rules
        return False
    return True


def _value_at(formula: Formula, known: Numbers) -> int:
    """Return the value of a formula at the sizes of another model, without those that it does not need."""
    asked = {*formula.symbols, *formula.relations, *(size for rule in formula.constraints for size in rule.symbols)}
    return formula.value({size: number for size, number in known.items() if size in asked})
