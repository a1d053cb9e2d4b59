"""A model: a ledger with a name, its numbers and the relations between its sizes. What a target resolves to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from sympy import Expr, Integer, Symbol

from .components.base import Component
from .errors import SizeError, UnknownNameError
from .formula import Formula
from .ledger import Ledger, Tensor, Weight
from .notation.text import text
from .quantities import quantity as find_quantity
from .sizes import Condition, Numbers, Relations, close, evaluate
from .symbols import RANK, letter


@dataclass(frozen=True, eq=False, kw_only=True)
class Model:
    """A component with numbers: an architecture at a preset, at a config.json, or with no numbers at all."""

    target: str  # what the user named: "gpt2-xl"
    component: Component
    numbers: Numbers = field(default_factory=dict)
    relations: Relations = field(default_factory=dict)
    read_numbers: Callable[[str], Model] | None = None  # what turns "gpt2-xl" or a path into a model with numbers

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
        return self.component.constraints

    @cached_property
    def sizes(self) -> tuple[Symbol, ...]:
        """The symbols of its shapes, in the order of the alphabet."""
        found: set[Symbol] = set()
        for count, entry in self.ledger:
            tensors: list[Tensor | Weight] = [entry.output, *entry.inputs, *entry.weights, *entry.shared]
            window = (entry.window,) if entry.window is not None else ()
            for expr in (count, *window, *(dim for each in tensors for dim in each.shape)):
                found |= expr.free_symbols
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
        return question.formula(self.component, self.id, conventions, self.relations, self)

    @property
    def known(self) -> Numbers:
        """Its numbers, with those that a relation fixes."""
        numbers = dict(self.numbers)
        for target, value in self.relations.items():
            if target not in numbers and value.free_symbols <= numbers.keys():
                numbers[target] = evaluate(value, numbers, str(target))
        return {name: numbers[name] for name in sorted(numbers, key=RANK.__getitem__)}

    def numbers_for(self, spec: object) -> Numbers:
        """The numbers of a preset or config.json of the same architecture; its own for None."""
        if spec is None:
            return self.known
        if self.read_numbers is None or not isinstance(spec, str):
            raise SizeError(f"{spec!r} names no sizes of {self.id}; give a dict of numbers")
        other = self.read_numbers(spec)
        if other.id != self.id:
            raise SizeError(f"{spec!r} is a {other.id}, not a {self.id}")
        if other.component != self.component:
            theirs, ours = (model.component.spell() for model in (other, self))
            raise SizeError(
                f"{spec!r} is a {self.id} with {theirs}, and this formula is for {ours}; make the model from it"
            )
        return other.known

    def set(self, values: Mapping[Symbol, Expr]) -> Model:
        """The model with some sizes set: to a number, or to an expression over the others (``H=4*E``).

        A relation that the new numbers break is given up, so that its symbol stays in the formula.
        Raises UnknownNameError for a symbol it does not have, SizeError for sizes that do not fit.
        """
        numbers, relations = dict(self.numbers), dict(self.relations)
        for name, value in values.items():
            if name not in self.sizes and not letter(name).run:
                raise UnknownNameError(f"symbol of {self.target}", str(name), map(str, self.sizes))
            if isinstance(value, Integer):
                numbers[name] = int(value)
            else:
                numbers.pop(name, None)
                relations[name] = value
        for name, value in list(relations.items()):
            if name in numbers and not self._holds(value, numbers, numbers[name]):
                del relations[name]
        return replace(self, numbers=numbers, relations=close(relations)).checked()

    def _holds(self, value: Expr, numbers: Numbers, number: int) -> bool:
        return bool(value.free_symbols <= numbers.keys() and value.xreplace(numbers) == number)

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
        return f"{self.title}({sizes}): {text(self.params.expanded)}"
