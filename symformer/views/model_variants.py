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
ESSENTIAL = ("tied",)  # options that get a switch before the conventions, of whatever presets a model has
COMMON = 10  # and so do the options in which one preset in ten differs from the model

At = Mapping[str, str]  # the value of each switch


@dataclass(frozen=True)
class Toggle:
    """An option of a model or a convention, with its values that have a formula."""

    name: str
    values: tuple[str, ...]
    option: bool


@dataclass(frozen=True)
class PresetSetting(Immutable):
    """A preset with the values of all options that a tab can switch, and its sizes."""

    name: str
    options: At
    numbers: Numbers


@dataclass(frozen=True)
class CarriedOption(Immutable):
    """An option with a switch on another tab only: the value that the formulas have, and which of them depend on it."""

    name: str
    value: str
    affects: tuple[bool, ...]  # for each setting of the switches
    settable: bool  # whether --option sets it, and not a convention of the quantity with the same name


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
    carried: tuple[CarriedOption, ...]  # the options of other tabs that have no switch here
    places: Mapping[str, ConfigLocation]
    presets: tuple[PresetSetting, ...]
    start: PresetSetting  # the requested model, or an example if it has no sizes
    at: At  # the requested value of each convention among the switches


@dataclass(frozen=True)
class Variants:
    """Finds the switches of a model and the formula for each of their settings."""

    model: Model
    quantity: str
    given: Mapping[str, str]  # the requested conventions
    most: int = FORMS
    elsewhere: tuple[Toggle, ...] = ()  # the options with switches on other tabs
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
            carried=tuple(map(self._carried, self.elsewhere_only)),
            places=self.model.provenance.for_quantity(self.quantity).places,
            presets=tuple(
                PresetSetting(name, self._options(preset), preset.known) for name, (preset, _) in self.presets().items()
            ),
            start=PresetSetting(name_of(shown.target), self._options(self.model), shown.known),
            at={switch.name: self._own(switch.name, option=False) for switch in self.switches if not switch.option},
        )

    @cached_property
    def base(self) -> Formula:
        """The requested formula."""
        return self.model.formula(self.quantity, **self.given)

    @property
    def start(self) -> dict[str, str]:
        """The requested value of each switch."""
        return {switch.name: self._own(switch.name, option=switch.option) for switch in self.switches}

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
        """The switches that fit the limit on the number of formulas: common options first."""
        kept: list[Toggle] = []
        for switch in sorted(self.changing, key=self._rank):
            if prod(len(each.values) for each in (*kept, switch)) <= self.most:
                kept.append(switch)
        return tuple(kept)

    def _rank(self, switch: Toggle) -> int:
        """Return 0 for a common option, 1 for a convention and 2 for another option."""
        if not switch.option:
            return 1
        presets, own = self.all_presets.values(), _value(self.model, switch.name)
        others = [each for each in presets if _value(each, switch.name) != own]
        return 0 if switch.name in ESSENTIAL or len(others) * COMMON > len(presets) else 2

    @cached_property
    def all_presets(self) -> dict[str, Model]:
        """The presets of the architecture, by name; none for a model that is not built in."""
        if not isinstance(self.model.component, Architecture):
            return {}
        return {name: architecture(name) for name in presets_of(self.model.id)}

    @property
    def elsewhere_only(self) -> tuple[Toggle, ...]:
        """The options with switches on other tabs but not on this one."""
        here = {switch.name for switch in self.switches if switch.option}
        return tuple(each for each in self.elsewhere if each.name not in here)

    def _options(self, model: Model) -> dict[str, str]:
        """Return the value of each option of a model that this tab or another one can switch."""
        switched = [switch for switch in (*self.switches, *self.elsewhere) if switch.option]
        return {name: _value(model, name) for name in sorted({switch.name for switch in switched})}

    def _carried(self, option: Toggle) -> CarriedOption:
        """Return an option without a switch here, and for each setting of the switches whether it matters there."""
        own, settable = _value(self.model, option.name), option.name not in find_quantity(self.quantity).choices
        if option.name in {each.name for each in self.changing}:
            return CarriedOption(option.name, own, (True,) * len(self.places()), settable)
        component = self.model.component
        others = [
            replace(self.model, component=replace(component, **component.options_from({option.name: value})))
            for value in option.values
            if value != own
        ]
        affects = (any(not self._same(at, other) for other in others) for at in self.places())
        return CarriedOption(option.name, own, tuple(affects), settable)

    def _same(self, at: At, other: Model) -> bool:
        """Return True if this model and another one have the same formula, or none for the same reason."""
        ours, theirs = self.formula(at), self.formula(at, other)
        return ours == theirs if isinstance(ours, str) else isinstance(theirs, Formula) and alike(ours, theirs)

    @property
    def held(self) -> list[str]:
        """The switches that exceed the limit, fixed at their requested values."""
        left = [each for each in self.changing if each not in self.switches]
        return [f"{each.name}={self._own(each.name, option=each.option)}" for each in left]

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

    def _own(self, name: str, *, option: bool) -> str:
        return _value(self.model, name) if option else self.base.conventions[name]

    def presets(self) -> dict[str, tuple[Model, At]]:
        """Return the presets that these formulas cover, each with the switch settings it needs."""
        found: dict[str, tuple[Model, At]] = {}
        said: dict[object, At | None] = {}
        for name, preset in self.all_presets.items():
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
        at = {each.name: _value(preset, each.name) for each in options}
        if any(at[switch.name] not in switch.values for switch in options):
            return None
        component = self.model.component
        if replace(component, **component.options_from(at)) == preset.component:
            return at
        for place in self.places():
            if {name: place[name] for name in at} == at and not self._same(place, preset):
                return None
        return at


def _value(model: Model, option: str) -> str:
    """Return the value of an option of a model, spelled as on the command line."""
    return spell_option(getattr(model.component, option))


def key_of(formula: Formula) -> object:
    """Return a key that is equal for formulas that look the same on a page."""
    return formula.measure, formula.digest, formula.constraints, tuple(formula.relations.items()), formula.ranks


def alike(one: Formula, other: Formula) -> bool:
    """Return True if two formulas are equal for all sizes: the same terms, relations and conditions."""
    held = [(each.relations, each.constraints) for each in (one, other)]
    return held[0] == held[1] and (one.digest == other.digest or one == other)
