"""Expressions and conditions over the sizes and quantities of a model, such as ``kv-cache(C=32768) <= 80GB``."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from sympy import Expr, Integer, Symbol, expand

from ..architectures import composed_model
from ..formulas.compiler import program, tested
from ..formulas.formula import Combination, Formula, held
from ..formulas.operators import Unit
from ..formulas.program import Program
from ..language.amounts import measured
from ..language.errors import OptionError, SizeError, needs_values, quoted
from ..language.frozen import Immutable
from ..language.limits import CALLS
from ..language.parsing import quantity_text
from ..language.parsing.quantity_text import ParsedCondition, ParsedExpression, QuantityTerm
from ..language.sizes import AtMost, check_relation
from ..language.symbols import SYMBOLS, letter, print_order, symbol
from ..models.model import Model
from ..quantities import canonical, is_quantity
from ..quantities import quantity as find_quantity
from ..quantities.spellings import spelled

WORDS = frozenset([*CALLS, "divides", "and"])
HOW = {"<=": "at most", "<": "less", ">=": "at most", ">": "less", "!=": "is not", "divides": "divides"}


def quantity_named(word: str) -> str:
    """Return the own name of a quantity in any spelling; "" for any other word.

    >>> quantity_named("train_flops"), quantity_named("E")
    ('train-flops', '')
    """
    if word in SYMBOLS or word in WORDS:  # without a search for the quantities of other packages
        return ""
    return canonical(word) if is_quantity(word) else ""


def quantities_in(text: str) -> list[str]:
    """Return the names of the quantities in an expression or in conditions; none if it is neither."""
    return quantity_text.quantities(text, quantity_named)


def bracketed(expression: str) -> str:
    """Return an expression in brackets, or a quantity alone without them.

    >>> bracketed("params"), bracketed("kv-cache(C=9)"), bracketed("2*params")
    ('params', 'kv-cache(C=9)', '(2*params)')
    """
    spelt = expression.strip()
    alone = re.fullmatch(r"([\w-]+)(?:\([^()]*\))?", spelt)
    return spelt if alone and is_quantity(alone[1]) else f"({spelt})"


def column(quantity: str) -> Symbol:
    """Return the symbol of the value that a quantity has in each row."""
    return Symbol(quantity, integer=True)


@dataclass(frozen=True)
class QuantityExpression(Immutable):
    """An expression over sizes, with the formulas whose quantities it contains."""

    text: str
    expr: Expr
    unit: str  # "" for a number without unit
    formulas: tuple[Formula, ...] = ()

    @property
    def formula(self) -> Formula:
        """The expression as one formula, which holds where each of its formulas does. Raises SizeError."""
        if not self.formulas:
            raise OptionError(f"{quoted(self.text)} has no quantity; name one, such as params")
        return Combination.of_formulas(self.text, self.expr, self.unit or "1", self.formulas)


@dataclass(frozen=True)
class QuantityCondition(Immutable):
    """A condition on sizes and quantities: ``params <= 7e9``, ``H = 4*E``, ``64 divides E``."""

    text: str
    how: str  # "at most", "less", "is", "is not" or "divides"
    left: Expr
    right: Expr
    formulas: tuple[Formula, ...] = ()  # the formulas of its quantities, whose conditions hold too
    names: tuple[str, ...] = ()  # the quantities that it names

    @property
    def sizes(self) -> set[Symbol]:
        """The sizes in the condition."""
        return {*self.left.free_symbols, *self.right.free_symbols}

    def programs(self, relations: Mapping[Symbol, Expr]) -> list[Program]:
        """Return a program that tests the condition, and one with the conditions of each formula in it."""
        sides = [side.xreplace(dict(relations)) for side in (self.left, self.right)]
        found = [tested(self.text, self.how, *sides)]
        for each in self.formulas:
            found.append(held_conditions(each))
        return found


def held_conditions(formula: Formula) -> Program:
    """Return a program with the conditions of a formula, in which fixed sizes are replaced by their values."""
    conditions, relations = held(formula)
    return program(Integer(0), conditions, relations, totals=formula.totals)


@dataclass(frozen=True)
class QuantityReader:
    """A reader of expressions and conditions for one model, under given conventions.

    Attributes
    ----------
    model
        The model, in which the open sizes have no values.
    conventions
        The conventions of every quantity that has them.
    columns
        The quantities that have a value in each row, by name, with the symbol of this value.

    """

    model: Model
    conventions: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, Symbol] = field(default_factory=dict)

    @property
    def own(self) -> Collection[Symbol]:
        """The sizes that may be named."""
        return self.model.settable

    def parsed(self, text: str) -> ParsedExpression:
        """Return a parsed expression. Raises ArithmeticTextError, UnknownNameError."""
        return quantity_text.expression(text, quantity_named, self.own)

    def expression(self, text: str, unit: str = "") -> QuantityExpression:
        """Return an expression over sizes and quantities.

        Parameters
        ----------
        text
            The expression.
        unit
            The unit that its numbers have if they have none of their own.

        Raises
        ------
        SymformerError
            A subclass, if the text is not arithmetic, a name is unknown, or a quantity is not supported.

        """
        found = self.parsed(text)
        formulas = self._formulas(found)
        own = found.unit(self._units(found, formulas)) or (
            self._product_unit(found, formulas) if found.terms else "" if found.sizes else unit
        )
        return QuantityExpression(found.text, self._value(found, formulas, own), own, tuple(formulas.values()))

    def conditions(self, text: str) -> list[QuantityCondition]:
        """Return the conditions in a text, which ``and`` joins. Raises SymformerError: a subclass, as expression."""
        return list(map(self._condition, quantity_text.conditions(text, quantity_named, self.own)))

    def _condition(self, read: ParsedCondition) -> QuantityCondition:
        sides = (read.left, read.right)
        formulas = [self._formulas(side) for side in sides]
        units = [side.unit(self._units(side, own)) for side, own in zip(sides, formulas, strict=True)]
        said = [unit for unit in units if unit]
        written = {unit for side in sides for unit in self._written(side)}
        if len(said) == 2 and said[0] != said[1] and written:
            raise OptionError(f"{quoted(read.text)} compares {said[0]} with {said[1]}; write a number in {said[0]}")
        unit = said[0] if said else ""
        left, right = (self._value(side, own, unit) for side, own in zip(sides, formulas, strict=True))
        alone = [expand(left), expand(right)] if read.relation == "divides" else [expand(left - right)]
        if not any(each.free_symbols for each in alone):
            raise OptionError(f"{quoted(read.text)} is the same for every row; compare a size or a quantity")
        if read.relation == "divides" and expand(left) == 0:
            raise OptionError(f"{quoted(read.text)} is never true, because 0 divides no number; write '64 divides E'")
        if read.relation in (">", ">="):
            left, right = right, left
        return QuantityCondition(
            read.text,
            HOW.get(read.relation, "is"),
            left,
            right,
            tuple(formula for own in formulas for formula in own.values()),
            tuple(read.names),
        )

    def _formulas(self, read: ParsedExpression) -> dict[Symbol, Formula]:
        """Return the formula of each quantity that is not a column."""
        return {
            place: self.formula(term)
            for place, term in read.terms.items()
            if str(term) != term.name or term.name not in self.columns
        }

    def _written(self, read: ParsedExpression) -> list[str]:
        return [unit for each in read.numbers.values() if (unit := measured(each)[1])]

    def _units(self, read: ParsedExpression, formulas: Mapping[Symbol, Formula]) -> dict[Symbol, str]:
        """Return the unit of each symbol that stands for a quantity or a number."""
        found = {place: measured(each)[1] for place, each in read.numbers.items()}
        for place, term in read.terms.items():
            measure = formulas[place].measure if place in formulas else find_quantity(term.name).measure
            found[place] = measure.unit
        return found

    def _product_unit(self, read: ParsedExpression, formulas: Mapping[Symbol, Formula]) -> str:
        """Return the unit of a product or quotient of quantities; "" if it has none."""
        units = self._units(read, formulas)
        found = Unit()
        for base, power in read.expr.as_powers_dict().items():
            if base in read.terms and isinstance(power, Integer):
                found = found * Unit.read(units[base]) ** int(power)
            elif base.free_symbols - read.numbers.keys():
                return ""
        return repr(found) if found else ""

    def _value(self, read: ParsedExpression, formulas: Mapping[Symbol, Formula], unit: str) -> Expr:
        """Return the expression with every quantity and number replaced."""
        values: dict[Symbol, Expr] = dict(read.values(unit))
        for place, term in read.terms.items():
            values[place] = formulas[place].exact_value if place in formulas else self.columns[term.name]
        found = read.expr.xreplace(values)
        if not found.is_finite and not found.free_symbols:
            raise OptionError(f"{quoted(read.text)} divides by zero")
        return found

    def formula(self, term: QuantityTerm) -> Formula:
        """Return the formula of a quantity with its arguments fixed. Raises SymformerError: a subclass."""
        model, question = self._model(term), find_quantity(term.name)
        conventions = {key: value for key, value in self.conventions.items() if key in question.choices}
        sizes: dict[str, Expr] = {}
        for name, value in term.arguments:
            ((key, spelt),) = spelled({name: value}, question.choices).items()
            if key in question.choices:
                conventions[key] = spelt
                continue
            size = symbol(model.size_name(name), model.settable)
            sizes[str(size)] = check_relation(size, self.expression(value).expr, model.settable)
            if not sizes[str(size)].is_integer:
                raise SizeError(f"{name} = {value} in {term} need not be an integer; write // for a floor")
        found = model.formula(term.name, **conventions)
        affecting = found.dependencies | found.defining_sizes
        for name, value in sizes.items():
            if symbol(name, model.settable) not in affecting:
                raise SizeError(f"{name} has no effect: {found.id} does not depend on {name}; remove it from {term}")
            if value.free_symbols & {symbol(name, model.settable)} and value != symbol(name, model.settable):
                raise SizeError(f"{name} = {value} in {term} depends on itself; use another size")
        if term.target:
            found = self._alone(term, found, model, sizes)
        elif sizes:
            found = found.partial(**sizes)
        least = tuple(AtMost(Integer(1), value) for value in sizes.values() if not value.is_positive)
        found = replace(found, constraints=(*found.constraints, *least)) if least else found
        known = {size: number for size, number in self.model.known.items() if size not in found.relations}
        for condition in found.constraints:
            condition.check({**known, **{s: int(v) for s, v in found.relations.items() if isinstance(v, Integer)}})
        return found

    def _model(self, term: QuantityTerm) -> Model:
        if not term.target:
            return self.model
        return (self.model.read_numbers or composed_model)(term.target)

    def _alone(self, term: QuantityTerm, found: Formula, model: Model, sizes: Mapping[str, Expr]) -> Formula:
        """Return the formula of another model with its own sizes as numbers; the sizes of the run stay open."""
        known = {str(size): Integer(number) for size, number in model.known.items() if size not in found.totals}
        affecting = {str(size) for size in found.dependencies if size not in found.relations or str(size) in sizes}
        fixed = {**{name: each for name, each in known.items() if name in affecting}, **sizes}
        made = found.partial(**fixed)
        lacking = sorted((size for size in made.symbols if not letter(size).run), key=print_order)
        lacking = [size for size in lacking if not any(size in each.free_symbols for each in sizes.values())]
        if lacking:
            raise SizeError(needs_values(str(term), lacking).replace("with --set", "in its arguments"))
        return replace(made, source=None)
