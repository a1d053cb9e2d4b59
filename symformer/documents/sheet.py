"""What a live page knows of its models: formulas, switches, sizes, conditions and presets, as data, never as code."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

from sympy import Expr, Symbol

from ..algebra.compare import ROLES, by_role
from ..architectures import architecture, presets_of
from ..architectures.base import Architecture
from ..catalogue.lifted import Lifted
from ..catalogue.traced import Traced
from ..components.base import spell_option
from ..formulas.factored import factored
from ..formulas.formula import Formula
from ..language.arithmetic import MAX_INTEGER
from ..language.errors import DocumentError, SymformerError
from ..language.notation.data import Data, data
from ..language.notation.text import text
from ..language.notation.tree import tree
from ..language.sizes import AtMost, Condition, Differs, Divides, Equals, Excludes
from ..language.symbols import RANK, letter
from ..models.model import Model
from ..models.provenance import Place
from ..papers import pieces
from ..quantities import quantity as find_quantity
from .derivation import with_numbers
from .message import purposes
from .subject import name_of

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
        named = [(name, tuple(each.meanings), False) for name, each in question.conventions.items()]
        if not isinstance(component, Traced | Lifted):
            named += [(name, tuple(map(spell_option, each)), True) for name, each in component.choices().items()]
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


def alike(one: Formula, other: Formula) -> bool:
    """Whether two formulas come to the same everywhere: the same terms, relations and conditions."""
    held = [(each.relations, each.constraints) for each in (one, other)]
    return held[0] == held[1] and (one.digest == other.digest or one == other)


@dataclass
class Sheet:
    """What is written into a page: one of each tree, row and condition, however many formulas have it.

    In a tree, a whole number is that of another tree, which stands before it.
    """

    trees: dict[str, int] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    conditions: dict[str, int] = field(default_factory=dict)
    sizes: set[Symbol] = field(default_factory=set)

    def tree(self, expr: Expr) -> int:
        """The number of an expression in house order."""
        return self._kept(data(tree(expr)))

    def _kept(self, spelt: Data) -> int:
        inside = [each if isinstance(each, str) else self._kept(each) for each in spelt]
        return self.trees.setdefault(_json(spelt if isinstance(spelt, str) else inside), len(self.trees))

    def _row(self, name: str, *exprs: Expr) -> int:
        return self.rows.setdefault(_json([name, *map(self.tree, exprs)]), len(self.rows))

    def condition(self, condition: Condition) -> int:
        """The number of a condition."""
        spelt = _json({"holds": str(condition), **_broken(condition, self.tree)})
        return self.conditions.setdefault(spelt, len(self.conditions))

    def form(self, formula: Formula) -> dict[str, Any]:
        """A formula, its parts, and what it asks for."""
        given = formula.relations
        concerned = [each for each in formula.constraints if _concerns(each, formula)]
        asked = {*formula.symbols}.union(*(each.symbols for each in concerned))
        asked |= {size for size in formula.written.free_symbols if size in given}
        asked |= {size for target in asked & given.keys() for size in given[target].free_symbols}
        known = asked | {target for target, value in given.items() if value.free_symbols <= asked}
        self.sizes |= known
        return {
            "factored": self._kept(data(factored(formula.written) if formula.additive else tree(formula.written))),
            "written": self.tree(formula.written),
            "asks": [size.name for size in _ordered(asked - given.keys())],
            "needs": [size.name for size in formula.symbols],
            "given": [
                [target.name, self.tree(given[target])]
                for target in _ordered(known & given.keys())
                if given[target].free_symbols <= known
            ],
            "conditions": [self.condition(each) for each in formula.constraints if each.symbols <= known],
            "rows": [self._row(row.path, row.count, row.each) for row in formula.rows if row.each != 0],
            "parts": self._shares(_parts(formula)),
            "purposes": self._shares(purposes(formula) if formula.additive else {}),
            **({"over": self.tree(formula.over.written)} if not formula.additive else {}),  # type: ignore[attr-defined]
        }

    def _shares(self, parts: Mapping[str, Expr]) -> list[int]:
        found = {name: expr for name, expr in parts.items() if expr != 0}
        return [self._row(name, expr) for name, expr in found.items()] if len(found) > 1 else []

    def model(self, variants: Variants) -> dict[str, Any]:
        """A model under all of its switches."""
        model, question = variants.model, find_quantity(variants.quantity)
        forms: dict[str, int] = {}
        made: dict[object, str] = {}
        settings = []
        for at in variants.places():
            formula = variants.formula(at)
            if isinstance(formula, str):
                spelt = _json({"refused": formula})
            else:
                key = (formula.digest, formula.constraints, tuple(formula.relations.items()))
                spelt = made.get(key) or made.setdefault(key, _json(self.form(formula)))
            settings.append(forms.setdefault(spelt, len(forms)))
        places = model.provenance.of(variants.quantity).places
        shown = with_numbers(model)
        return {
            "name": name_of(model.target),
            "title": model.title,
            "switches": [
                {
                    "name": switch.name,
                    "values": switch.values,
                    "option": switch.option,
                    "says": []
                    if switch.option
                    else [_plain(question.choices[switch.name].meanings[value]) for value in switch.values],
                }
                for switch in variants.switches
            ],
            "settings": settings,
            "forms": [json.loads(form) for form in forms],
            "held": variants.held,
            "places": {name: said for name, place in places.items() if (said := _place(place, name))},
            "presets": [
                {"name": name, "at": at, "numbers": {size.name: number for size, number in preset.known.items()}}
                for name, (preset, at) in variants.presets().items()
            ],
            "start": {
                "name": name_of(shown.target),
                "at": variants.start,
                "numbers": {size.name: number for size, number in shown.known.items()},
            },
        }


def sheet(models: Sequence[Model], quantity: str, given: Mapping[str, str], most: int = FORMS) -> dict[str, Any]:
    """What a page knows of some models, ready for JSON. Raises DocumentError, RuleError and OptionError."""
    made = Sheet()
    measure = find_quantity(quantity).measure
    told = [made.model(Variants(model, quantity, given, most)) for model in models]
    return {
        "quantity": quantity,
        "title": measure.title,
        "unit": measure.unit,
        "letter": measure.letter.partition("_")[::2],
        "most": str(MAX_INTEGER),
        "sizes": {
            size.name: {
                "base": letter(size).base,
                "below": letter(size).subscript,
                "meaning": letter(size).meaning,
                "word": letter(size).word,
            }
            for size in _ordered(made.sizes)
        },
        "models": told,
        "rows": [json.loads(each) for each in made.rows],
        "trees": [json.loads(each) for each in made.trees],
        "conditions": [json.loads(each) for each in made.conditions],
    }


def _broken(condition: Condition, tree: Callable[[Expr], int]) -> dict[str, Any]:
    """What a condition compares, and what is said where that breaks it: {0} and {1} stand for the numbers.

    Raises DocumentError for a condition that a page cannot check.
    """
    match condition:
        case Divides(divisor, dividend, remedy):
            by = text(divisor) + "={0}" * (not divisor.is_Integer)
            about = ", ".join(_meaning(each) for each in (dividend, divisor) if each is dividend or not each.is_Integer)
            said = f"{text(dividend)}={{1}} is not a multiple of {by} ({about}); {remedy}"
            return {"kind": "divides", "of": [tree(divisor), tree(dividend)], "breaks": said}
        case AtMost(low, high, because):
            said = f"{_spell(high, '{1}')} is less than {_spell(low, '{0}')}; {because}"
            return {"kind": "at most", "of": [tree(low), tree(high)], "breaks": said}
        case Excludes(ones, because):
            both = " and ".join(f"{size}=1" for size in ones)
            said = f"the formula does not hold for {both}: {because}"
            return {"kind": "not all 1", "of": [*map(tree, ones)], "breaks": said}
        case Differs(left, right, because):
            said = f"the formula does not hold for {left} = {right} = {{0}}: {because}"
            return {"kind": "differ", "of": [tree(left), tree(right)], "breaks": said}
        case Equals(size, value, because):
            said = f"{size}={{0}} is not {_spell(value, '{1}')}; {because}"
            return {"kind": "equal", "of": [tree(size), tree(value)], "breaks": said}
    raise DocumentError(f"a live page cannot check that {condition}; leave --live out")


def _spell(size: Expr, number: str) -> str:
    about = f" ({_meaning(size)})" if isinstance(size, Symbol) else ""
    return text(size) if size.is_number else f"{text(size)}={number}{about}"


def _meaning(size: Expr) -> str:
    return letter(size).meaning if isinstance(size, Symbol) else text(size)


def _parts(formula: Formula) -> dict[str, Expr]:
    """What each role comes to; nothing of a ratio, or of what was read off code, which does not say the role."""
    if not formula.additive or isinstance(formula.root.part, Traced | Lifted):
        return {}
    found = by_role(formula)
    return {role: found[role] for role in ROLES if role in found}


def _concerns(condition: Condition, formula: Formula) -> bool:
    """Whether a condition is about sizes that the formula has."""
    own = {*formula.symbols, *formula.relations}
    of_run = {size for size in condition.symbols if letter(size).run and not letter(size).ranks}
    return bool(condition.symbols & own) and of_run <= own


def _ordered(sizes: set[Symbol]) -> list[Symbol]:
    return sorted(sizes, key=RANK.__getitem__)


def _place(place: Place, size: str) -> str:
    """Where a config has a size, in plain text."""
    if place.counted:
        return f"{place.counted} in {place.field}"
    if place.of:
        return f"{place.field} of {place.of}"
    return "" if place.field == size else place.field + (f" less {place.less}" if place.less else "")


def _plain(said: str) -> str:
    """A sentence without the papers that it cites."""
    return " ".join("".join(pieces(said)[::2]).split())


def _json(told: object) -> str:
    return json.dumps(told, ensure_ascii=False, separators=(",", ":"))
