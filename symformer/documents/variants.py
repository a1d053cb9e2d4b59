"""A model under its switches: options and conventions of few values that change a formula, and where they lead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from math import prod

from ..architectures import architecture, presets_of
from ..architectures.base import Architecture
from ..catalogue.lifted import Lifted
from ..catalogue.traced import Traced
from ..components.base import spell_option
from ..formulas.formula import Formula
from ..language.errors import SymformerError
from ..models.model import Model
from ..quantities import quantity as find_quantity

FEW = 5  # values of a switch
FORMS = 32  # formulas of one model that a page holds

At = Mapping[str, str]  # the value of each switch


@dataclass(frozen=True)
class Switch:
    """An option of a model or a convention, with those of its values that give a formula."""

    name: str
    values: tuple[str, ...]
    option: bool


@dataclass(frozen=True)
class Variants:
    """A model under its switches: every formula that they lead to."""

    model: Model
    quantity: str
    given: Mapping[str, str]  # the conventions asked for
    most: int = FORMS
    known: dict[object, Formula | str] = field(default_factory=dict, compare=False, repr=False)  # what was asked before

    @cached_property
    def base(self) -> Formula:
        """The formula that was asked for."""
        return self.model.formula(self.quantity, **self.given)

    @property
    def start(self) -> dict[str, str]:
        """The value of each switch that was asked for."""
        return {switch.name: self._own(switch.name, switch.option) for switch in self.switches}

    @cached_property
    def changing(self) -> tuple[Switch, ...]:
        """What has few values, of which some other one changes the formula."""
        question, component = find_quantity(self.quantity), self.model.component
        loud = {name: each for name, each in question.conventions.items() if not each.quiet}
        named = [(name, tuple(each.meanings), False) for name, each in loud.items()]
        if not isinstance(component, Traced | Lifted):
            choices = {name: each for name, each in component.choices().items() if name not in question.choices}
            named += [(name, tuple(map(spell_option, each)), True) for name, each in choices.items()]
        found = []
        for name, values, option in named:
            if not 2 <= len(values) <= FEW:
                continue
            formulas = {value: self._formula({name: value}, {name: option}) for value in values}
            known = [value for value, formula in formulas.items() if isinstance(formula, Formula)]
            if any(not alike(self.base, formula) for formula in formulas.values() if isinstance(formula, Formula)):
                found.append(Switch(name, tuple(known), option))
        return tuple(found)

    @cached_property
    def switches(self) -> tuple[Switch, ...]:
        """Those that there is room for."""
        kept: list[Switch] = []
        for switch in self.changing:
            if prod(len(each.values) for each in (*kept, switch)) <= self.most:
                kept.append(switch)
        return tuple(kept)

    @property
    def held(self) -> list[str]:
        """What a page has no room to switch, as it was asked for."""
        left = [each for each in self.changing if each not in self.switches]
        return [f"{each.name}={self._own(each.name, each.option)}" for each in left]

    def places(self) -> list[dict[str, str]]:
        """Every setting of the switches; the last of them turns fastest."""
        values = [switch.values for switch in self.switches]
        names = [switch.name for switch in self.switches]
        return [dict(zip(names, each, strict=True)) for each in product(*values)]

    def formula(self, at: At, model: Model | None = None) -> Formula | str:
        """The formula at a setting of the switches; the sentence by which it is refused."""
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
        """The presets that these formulas give the number of, each with the switches that it needs."""
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
        """The switches of the model that turn it into a preset, under every convention; None where none do."""
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
    """What two formulas share that differ in nothing that a page shows."""
    return formula.measure, formula.digest, formula.constraints, tuple(formula.relations.items()), formula.ranks


def alike(one: Formula, other: Formula) -> bool:
    """Whether two formulas come to the same everywhere: the same terms, relations and conditions."""
    held = [(each.relations, each.constraints) for each in (one, other)]
    return held[0] == held[1] and (one.digest == other.digest or one == other)
