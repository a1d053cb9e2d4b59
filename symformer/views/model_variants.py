"""The variants of a model: the options and conventions with few values that change its formula."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from math import prod

from ..architectures import architecture, presets_of
from ..architectures.base_architecture import Architecture
from ..catalogue.measured_model import MeasuredModel
from ..catalogue.recognized_model import RecognizedModel
from ..components.base import spell_option
from ..formulas.account import Measure
from ..formulas.formula import Formula
from ..language.errors import SymformerError
from ..language.frozen import Immutable
from ..language.sizes import Numbers
from ..language.target import name_of
from ..models.model import Model
from ..models.provenance import ConfigLocation
from ..quantities import quantity as find_quantity
from .example_facts import with_numbers

FEW = 5  # maximum values of a switch
FORMS = 32  # maximum formulas of one model on a page

At = Mapping[str, str]  # the value of each switch


@dataclass(frozen=True)
class Toggle:
    """An option of a model or a convention, with its values that have a formula."""

    name: str
    values: tuple[str, ...]
    option: bool


@dataclass(frozen=True)
class PresetSetting(Immutable):
    """A preset with the values of the switches and its sizes."""

    name: str
    at: At
    numbers: Numbers


@dataclass(frozen=True)
class VariantsFacts(Immutable):
    """Everything that a live page states about a model: its switches, and the formula for each of their settings."""

    name: str
    title: str
    measure: Measure
    switches: tuple[Toggle, ...]
    meanings: Mapping[str, tuple[str, ...]]  # of the values of each convention among the switches
    settings: tuple[Formula | str, ...]  # the formula at each setting of the switches, or why there is none
    held: tuple[str, ...]  # the switches that exceed the limit, fixed at their requested values
    places: Mapping[str, ConfigLocation]
    presets: tuple[PresetSetting, ...]
    start: PresetSetting  # the requested model, or an example if it has no sizes


@dataclass(frozen=True)
class Variants:
    """Finds the switches of a model and the formula for each of their settings."""

    model: Model
    quantity: str
    given: Mapping[str, str]  # the requested conventions
    most: int = FORMS
    known: dict[object, Formula | str] = field(default_factory=dict, compare=False, repr=False)  # earlier results

    def facts(self) -> VariantsFacts:
        """Return everything that a live page states about the model."""
        question, shown = find_quantity(self.quantity), with_numbers(self.model)
        return VariantsFacts(
            name=self.model.name,
            title=self.model.title,
            measure=question.measure,
            switches=self.switches,
            meanings={
                switch.name: tuple(question.choices[switch.name].meanings[value] for value in switch.values)
                for switch in self.switches
                if not switch.option
            },
            settings=tuple(self.formula(at) for at in self.places()),
            held=tuple(self.held),
            places=self.model.provenance.for_quantity(self.quantity).places,
            presets=tuple(PresetSetting(name, at, preset.known) for name, (preset, at) in self.presets().items()),
            start=PresetSetting(name_of(shown.target), self.start, shown.known),
        )

    @cached_property
    def base(self) -> Formula:
        """The requested formula."""
        return self.model.formula(self.quantity, **self.given)

    @property
    def start(self) -> dict[str, str]:
        """The requested value of each switch."""
        return {switch.name: self._own(switch.name, switch.option) for switch in self.switches}

    @cached_property
    def changing(self) -> tuple[Toggle, ...]:
        """The options and conventions with few values, at least one of which changes the formula."""
        question, component = find_quantity(self.quantity), self.model.component
        loud = {name: each for name, each in question.conventions.items() if not each.hidden_by_default}
        named = [(name, tuple(each.usual), False) for name, each in loud.items()]
        if not isinstance(component, MeasuredModel | RecognizedModel):
            choices = {name: each for name, each in component.choices().items() if name not in question.choices}
            named += [(name, tuple(map(spell_option, each)), True) for name, each in choices.items()]
        found = []
        for name, values, option in named:
            if not 2 <= len(values) <= FEW:
                continue
            formulas = {value: self._formula({name: value}, {name: option}) for value in values}
            known = [value for value, formula in formulas.items() if isinstance(formula, Formula)]
            if any(not alike(self.base, formula) for formula in formulas.values() if isinstance(formula, Formula)):
                found.append(Toggle(name, tuple(known), option))
        return tuple(found)

    @cached_property
    def switches(self) -> tuple[Toggle, ...]:
        """The switches that fit the limit on the number of formulas."""
        kept: list[Toggle] = []
        for switch in self.changing:
            if prod(len(each.values) for each in (*kept, switch)) <= self.most:
                kept.append(switch)
        return tuple(kept)

    @property
    def held(self) -> list[str]:
        """The switches that exceed the limit, fixed at their requested values."""
        left = [each for each in self.changing if each not in self.switches]
        return [f"{each.name}={self._own(each.name, each.option)}" for each in left]

    def places(self) -> list[dict[str, str]]:
        """Return every setting of the switches; the last switch varies fastest."""
        values = [switch.values for switch in self.switches]
        names = [switch.name for switch in self.switches]
        return [dict(zip(names, each, strict=True)) for each in product(*values)]

    def formula(self, at: At, model: Model | None = None) -> Formula | str:
        """Return the formula at a setting of the switches, or the error message if there is none."""
        return self._formula(at, {switch.name: switch.option for switch in self.switches}, model)

    def _formula(self, at: At, option: Mapping[str, bool], model: Model | None = None) -> Formula | str:
        model = model or self.model
        asked = (model.component, tuple(model.relations.items()), tuple(sorted(at.items())))
        if asked not in self.known:
            self.known[asked] = self._asked(at, option, model)
        return self.known[asked]

    def _asked(self, at: At, option: Mapping[str, bool], model: Model) -> Formula | str:
        chosen = {name: value for name, value in at.items() if option[name]}
        conventions = {**self.given, **{name: value for name, value in at.items() if not option[name]}}
        component = model.component
        try:
            if chosen:
                model = replace(model, component=replace(component, **component.options_from(chosen)))
            return model.formula(self.quantity, **conventions)
        except SymformerError as error:
            return str(error)

    def _own(self, name: str, option: bool) -> str:
        return spell_option(getattr(self.model.component, name)) if option else self.base.conventions[name]

    def presets(self) -> dict[str, tuple[Model, At]]:
        """Return the presets that these formulas cover, each with the switch settings it needs."""
        found: dict[str, tuple[Model, At]] = {}
        if not isinstance(self.model.component, Architecture):
            return found
        said: dict[object, At | None] = {}
        for name in presets_of(self.model.id):
            preset = architecture(name)
            if preset.relations != self.model.relations:
                continue
            if preset.component not in said:
                said[preset.component] = self._setting(preset)
            at = said[preset.component]
            if at is not None:
                found[name] = preset, at
        return found

    def _setting(self, preset: Model) -> At | None:
        """Return the settings that turn the model into a preset under every convention, or None if none do."""
        options = [switch for switch in self.switches if switch.option]
        at = {each.name: spell_option(getattr(preset.component, each.name)) for each in options}
        if any(at[switch.name] not in switch.values for switch in options):
            return None
        component = self.model.component
        if replace(component, **component.options_from(at)) == preset.component:
            return at
        for place in self.places():
            if {name: place[name] for name in at} != at:
                continue
            ours, theirs = self.formula(place), self.formula({**place, **at}, preset)
            same = ours == theirs if isinstance(ours, str) else isinstance(theirs, Formula) and alike(ours, theirs)
            if not same:
                return None
        return at


def key_of(formula: Formula) -> object:
    """Return a key that is equal for formulas that look the same on a page."""
    return formula.measure, formula.digest, formula.constraints, tuple(formula.relations.items()), formula.ranks


def alike(one: Formula, other: Formula) -> bool:
    """Return True if two formulas are equal for all sizes: the same terms, relations and conditions."""
    held = [(each.relations, each.constraints) for each in (one, other)]
    return held[0] == held[1] and (one.digest == other.digest or one == other)
