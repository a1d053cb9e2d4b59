"""A model: a ledger with a name, its numbers and the relations between its sizes. What a target resolves to."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from sympy import Expr, Integer, Symbol

from ..components.base import Component
from ..formulas.formula import Formula
from ..language.errors import RuleError, SizeError, SymformerError, UnknownNameError
from ..language.frozen import Immutable
from ..language.notation.cards import Card, Shown, Table
from ..language.notation.text import text
from ..language.notation.tree import tree
from ..language.sizes import Condition, Equals, Numbers, Relations, at, close, put_in, shown, sized, whole
from ..language.symbols import RANK, SYMBOLS, letter, symbol
from ..language.target import AnyTarget, is_config
from ..ledger.facts import Kind, Ledger
from ..quantities import quantity as find_quantity
from .provenance import Provenance


@dataclass(frozen=True, eq=False, kw_only=True)
class Model(Immutable, Shown):
    """A component with numbers: an architecture at a preset, at a config.json, or with no numbers at all."""

    target: str  # what the user named: "gpt2-xl"
    component: Component
    numbers: Numbers = field(default_factory=dict)
    relations: Relations = field(default_factory=dict)
    provenance: Provenance = field(default_factory=Provenance)
    read_numbers: Callable[[AnyTarget], Model] | None = None  # builds a model with numbers from "gpt2-xl" or a path

    def __post_init__(self) -> None:
        """Hold every number and every relation to what a size is."""
        object.__setattr__(self, "numbers", {name: whole(str(name), number) for name, number in self.numbers.items()})
        object.__setattr__(self, "relations", {name: sized(name, value) for name, value in self.relations.items()})
        super().__post_init__()

    @property
    def ledger(self) -> Ledger:
        """The facts."""
        return self.component.ledger

    @property
    def id(self) -> str:
        """The stem of its formulas' ids: the architecture's or component's name."""
        return self.component.name

    @property
    def title(self) -> str:
        """Its name for people."""
        return self.component.title

    @property
    def constraints(self) -> tuple[Condition, ...]:
        """The conditions under which its formulas hold."""
        totals = self.component.totals.items()
        return (*self.component.constraints, *(Equals(size, value, "set those it counts") for size, value in totals))

    @cached_property
    def sizes(self) -> tuple[Symbol, ...]:
        """The symbols of its shapes, in the order of the alphabet."""
        found = set(self.ledger.sizes)
        for value in self.relations.values():
            found |= value.free_symbols
        for constraint in self.constraints:
            found |= constraint.symbols
        return tuple(sorted(found, key=RANK.__getitem__))

    @property
    def params(self) -> Formula:
        """The number of parameters."""
        return self.formula("params")

    def formula(self, quantity: str = "params", **conventions: str) -> Formula:
        """One quantity, in closed form. Raises UnknownNameError and OptionError."""
        question = find_quantity(quantity)
        self.check_format(quantity, conventions)
        model = self.sized(quantity, conventions)
        return question.formula(model.component, model.id, conventions, model.relations, model)

    def check_format(self, quantity: str, conventions: Mapping[str, str]) -> None:
        """Raise RuleError if the model is quantized and a quantity depends on the storage format of weights."""
        scheme = self.provenance.quantized
        if scheme and (why := find_quantity(quantity).format_dependence(self.component, conventions)):
            raise RuleError(
                f"{quantity} of {self.target}, quantized by {scheme}, is not supported: {why}; remove the field to "
                "count the weights before quantization"
            )

    def sized(self, quantity: str, conventions: Mapping[str, str] | None = None) -> Model:
        """Return the model with the numbers of its config for the sizes of one quantity. Raises RuleError.

        Under other conventions than the usual ones it may have more sizes: a window, for example.
        """
        if not self.provenance.config:
            return self
        model = self._at_config(self.provenance.of(quantity))
        unknown = model._unknown(quantity, conventions) if conventions else frozenset()
        return model._at_config(self.provenance.of(quantity, unknown)) if unknown else model

    def _at_config(self, read: Provenance) -> Model:
        # A measured quantity may have sizes that the stored parameters do not depend on.
        places, config = read.places, {**self.provenance.config, **read.config}
        own = {symbol(name): config[place.field] for name, place in places.items() if place.field in config}
        more = {size: number for size, number in own.items() if size not in (*self.numbers, *self.relations)}
        known = replace(self.provenance, numbers={**own, **self.provenance.numbers})
        return replace(self, numbers={**more, **self.numbers}, provenance=known)

    def _unknown(self, quantity: str, conventions: Mapping[str, str]) -> frozenset[str]:
        """Return the sizes of the model without a number, if its operations answer under these conventions."""
        try:
            formula = find_quantity(quantity).formula(self.component, self.id, conventions, self.relations)
        except SymformerError:  # which whoever asks for the formula is told
            return frozenset()
        if all(line.entry is None or line.entry.kind is Kind.OBSERVED for _, line in formula.root.leaves()):
            return frozenset()
        return frozenset(str(size) for size in formula.asks - self.known.keys() if not letter(size).run)

    @property
    def known(self) -> Numbers:
        """Its numbers, with those that a relation fixes."""
        numbers = dict(self.numbers)
        for target, value in close({**self.component.totals, **self.relations}).items():
            if target not in numbers and value.free_symbols <= numbers.keys():
                numbers[target] = at(target, value, numbers)
        return {name: numbers[name] for name in sorted(numbers, key=RANK.__getitem__)}

    def numbers_for(self, formula: Formula, spec: object, given: Mapping[Symbol, int]) -> Numbers:
        """The numbers of a preset or config.json of the same architecture, its own for None; those given instead."""
        model = self if spec is None else self._named(spec)
        model.check_format(formula.measure.name, formula.conventions)
        own = {name: Integer(number) for name, number in given.items() if name in model.settable}
        return {**(model.set(own) if own else model).known, **given}

    def _named(self, spec: object) -> Model:
        if self.read_numbers is None or not (isinstance(spec, (str, os.PathLike)) or is_config(spec)):
            raise SizeError(f"{shown(spec)} names no sizes of {self.id}; give a dict of numbers")
        other = self.read_numbers(spec)
        if other.id != self.id:
            raise SizeError(f"{other.target!r} is a {other.id}, not a {self.id}")
        if other.component != self.component:
            theirs, ours = (model.component.spell() for model in (other, self))
            raise SizeError(
                f"{other.target!r} is a {self.id} with {theirs}, and this formula is for {ours}; make the model from it"
            )
        return other

    @cached_property
    def settable(self) -> frozenset[Symbol]:
        """Its sizes, and every size of a run: which of those a quantity asks for, its formula knows."""
        return frozenset({*self.sizes, *self.numbers, *(each for each in SYMBOLS.values() if letter(each).run)})

    def set(self, values: Mapping[Symbol | str, Expr | int | str]) -> Model:
        """The model with some sizes set: to a number, or to an expression over the others (``H=4*E``).

        A relation that the new numbers break is given up, so that its symbol stays in the formula.
        Raises UnknownNameError for a symbol it does not have, SizeError for sizes that do not fit.
        """
        return self.unchecked(values).checked()

    def unchecked(self, values: Mapping[Symbol | str, Expr | int | str]) -> Model:
        """The same, before the conditions between its sizes are checked. Raises UnknownNameError, SizeError."""
        numbers, relations = dict(self.numbers), dict(self.relations)
        for name, given in values.items():
            target = symbol(str(name))
            if target not in self.settable:
                raise UnknownNameError(f"symbol of {self.target}", str(name), map(str, self.sizes))
            value = sized(target, given)
            numbers.pop(target, None)
            if isinstance(value, Integer):
                numbers[target] = int(value)
            elif value == target:  # H="H": free again
                relations.pop(target, None)
            else:
                relations[target] = value
        for target, value in list(relations.items()):
            if target in numbers and not self._holds(value, numbers, numbers[target]):
                del relations[target]
        return replace(self, numbers=numbers, relations=close(relations))

    def _holds(self, value: Expr, numbers: Numbers, number: int) -> bool:
        return bool(value.free_symbols <= numbers.keys() and put_in(value, numbers) == number)

    def asked_by(self, formulas: Iterable[Formula]) -> None:
        """Raise SizeError if a given size of the run is in none of these formulas, or violates a condition of one."""
        run = [name for name in (*self.numbers, *self.relations) if letter(name).run]
        formulas = tuple(formulas) if run else ()
        asked = {name for formula in formulas for name in formula.asks}
        named = {name for formula in formulas for name in formula.named}
        for name in run:
            if formulas and name not in asked | named:
                value = self.numbers.get(name) or text(self.relations[name])
                whose = " and ".join(dict.fromkeys(formula.id for formula in formulas))
                others = ", ".join(str(each) for each in sorted(asked, key=RANK.__getitem__) if letter(each).run)
                raise SizeError(
                    f"{name}={value} changes nothing: {whose} has no {name} ({letter(name).meaning}) in it"
                    + (f"; of a run it has {others}" if others else ", nor any other size of a run")
                    + ("; ranks come in by an option, such as tensor=on" if letter(name).ranks else "")
                )
        for formula in formulas:
            for constraint in formula.constraints:
                constraint.check(self.known)

    def checked(self) -> Model:
        """Itself, once every condition between its sizes holds. Raises SizeError naming the sizes that do not fit."""
        for constraint in self.constraints:
            constraint.check(self.numbers)
        known = self.known
        for constraint in self.constraints:
            constraint.check(known)
        return self

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}={number}" for name, number in self.known.items())
        return f"{self.title}({sizes}): {self._stored}"

    @property
    def _stored(self) -> str:
        """Its number of parameters for people, or how long that is; why, where it has none."""
        try:
            params = self.params
        except SymformerError as error:
            return str(error)
        return params.text() if params.card else repr(params)

    @property
    def card(self) -> Card:
        """Its number of parameters, and its sizes."""
        try:
            stored = self.params.card
        except SymformerError:
            stored = None
        rows = [(tree(size), letter(size).meaning, f"{number:,}") for size, number in self.known.items()]
        table = Table(("symbol", "meaning", "value"), rows, "llr") if rows else None
        return Card(self.title, stored.equations if stored else (), table)
