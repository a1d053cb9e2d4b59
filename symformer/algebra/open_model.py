"""The inputs of a search or sweep: a model with some sizes fixed, some defined by others, and some unknown.

A quantity can be an expression over quantities, a size can be defined by quantities, and conditions can relate both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sympy import Expr, Symbol

from ..architectures import composed_model
from ..formulas.compiler import is_integral
from ..formulas.formula import Formula
from ..language.errors import SizeError, UnknownNameError
from ..language.notation.text import text
from ..language.parsing.quantity_text import is_arithmetic
from ..language.sizes import check_relation
from ..language.symbols import letter, named_symbol, print_order, symbol
from ..language.target import AnyTarget
from ..models.model import Model
from ..output.blocks import Line, Math, setting
from ..quantities import is_quantity
from ..quantities import quantity as find_quantity
from ..quantities.spellings import spelled
from .quantity_conditions import QuantityCondition, QuantityReader, column, quantities_in, quantity_named

Given = Mapping[str, int | Expr] | None
Where = Mapping[str, str | Expr] | None


@dataclass(frozen=True)
class OpenModel:
    """A model whose open sizes are symbols in its formulas."""

    model: Model
    formulas: tuple[Formula, ...]
    relations: Mapping[Symbol, Expr]  # the sizes that are defined by others
    free: Mapping[Symbol, int | None]  # the sizes determined by conditions, each with its value in the model
    conditions: tuple[QuantityCondition, ...] = ()
    conventions: Mapping[str, str] = field(default_factory=dict)

    @property
    def reader(self) -> QuantityReader:
        """The reader of further expressions over the sizes and quantities of the model."""
        return QuantityReader(self.model, self.conventions)

    @classmethod
    def of(
        cls,
        target: Model | AnyTarget,
        open_sizes: Iterable[str],
        quantities: Sequence[str],
        given: Given,
        where: Where,
        conventions: Mapping[str, str],
        conditions: Iterable[str] = (),
        expressions: Iterable[str] = (),
        has_columns: bool = False,
    ) -> OpenModel:
        """Return the model and formulas with unknown sizes. Raises SizeError, OptionError, UnknownNameError.

        ``expressions`` are read again, by the reader: their quantities can have the conventions. With ``has_columns``,
        every quantity has a value in each row, and conditions refer to it.
        """
        model = composed_model(target)
        names, own = tuple(map(model.size_name, open_sizes)), model.settable
        given = {model.size_name(name): value for name, value in (given or {}).items()}
        where = {model.size_name(name): value for name, value in (where or {}).items()}
        conditions = tuple(conditions)
        if twice := [name for name in given if name in where]:
            raise SizeError(f"{twice[0]} is in sizes and in relations; keep one")
        defined = {**given, **where}
        texts = [*quantities, *(each for each in defined.values() if isinstance(each, str)), *conditions, *expressions]
        conventions = _conventions(
            quantities, dict.fromkeys(each for text in texts for each in quantities_in(text)), conventions
        )
        later = {
            name: value
            for name, value in defined.items()
            if isinstance(value, str) and not is_arithmetic(value, quantity_named)
        }
        fixed = {
            name: check_relation(symbol(name, own), value, own) for name, value in defined.items() if name not in later
        }
        for name in names:
            if name in defined:
                said = later[name] if name in later else text(fixed[name])
                raise SizeError(f"{name} is varied or solved for, but also set to {said}; remove one of the two")
        sizes = {name: symbol(name, own) for name in names}
        free = {name: size for name, size in sizes.items() if size in own}
        model = model.set_unchecked({**fixed, **free})
        reader = QuantityReader(model, conventions)
        values = {name: reader.expression(value).expr for name, value in later.items()}
        for name, value in values.items():
            if symbol(name, own) in value.free_symbols:
                raise SizeError(f"{name} = {later[name]} depends on {name} itself; define it by other sizes")
        if values:
            model = model.set_unchecked(values)
        formulas = _formulas(model, quantities, conventions)
        read = _read(model, conventions, conditions, formulas if has_columns else ())
        reader = QuantityReader(model, conventions)
        aims = [reader.expression(each) for each in expressions if quantities_in(each)]
        every = [*formulas, *(formula for each in read for formula in each.formulas)]
        every += [formula for each in aims for formula in each.formulas]
        aimed = {size for each in aims for size in each.expr.free_symbols}
        mentioned = aimed.union(*(each.sizes for each in read))
        for name in names:
            if sizes[name] not in mentioned:
                _concerns(sizes[name], every, model)
        decided = _free(model, formulas, read, {*map(named_symbol, (*names, *defined))}, aimed)
        if any(size in model.numbers for size in decided):
            model = replace(model, numbers={size: each for size, each in model.numbers.items() if size not in decided})
            formulas = _formulas(model, quantities, conventions)
            read = _read(model, conventions, conditions, formulas if has_columns else ())
        model.validated().check_run_sizes([operand for each in every for operand in each.operands])
        relations = {size: value for each in formulas for size, value in each.relations.items()}
        relations |= {
            size: value
            for each in read
            for formula in each.formulas
            for size, value in formula.relations.items()
            if size not in relations and size not in formula.fixed
        }
        follows = {
            size: relations[size]
            for size in map(named_symbol, where)
            if size in relations and not relations[size].is_number
        }
        return cls(model, tuple(formulas), follows, decided, tuple(read), conventions)


def _conventions(quantities: Sequence[str], more: Iterable[str], conventions: Mapping[str, str]) -> dict[str, str]:
    """Return the conventions by their own names. Raises UnknownNameError for one that no quantity has."""
    names = dict.fromkeys([*(name for name in quantities if is_quantity(name)), *more])
    for name in quantities:
        if name not in names and not quantities_in(name):
            find_quantity(name)  # raises UnknownNameError
    every = {key: choice for name in names for key, choice in find_quantity(name).choices.items()}
    conventions = spelled(conventions, every)
    for key in conventions:
        if key not in every:
            raise UnknownNameError(f"convention of {' and '.join(names)}", key, every)
    return conventions


def _formulas(model: Model, quantities: Sequence[str], conventions: Mapping[str, str]) -> list[Formula]:
    """Return the formula of each quantity or expression, with the conventions that apply to it."""
    found = []
    for name in quantities:
        if not is_quantity(name):
            found.append(QuantityReader(model, conventions).expression(name).formula)
            continue
        known = find_quantity(name).choices
        found.append(model.formula(name, **{key: value for key, value in conventions.items() if key in known}))
    return found


def _read(
    model: Model, conventions: Mapping[str, str], conditions: Iterable[str], formulas: Iterable[Formula]
) -> list[QuantityCondition]:
    """Return the conditions, which refer to the columns of these formulas by name."""
    columns = {each.measure.name: column(each.measure.name) for each in formulas if is_integral(each)}
    reader = QuantityReader(model, conventions, columns)
    return [each for text in conditions for each in reader.conditions(text)]


def _free(
    model: Model,
    formulas: Sequence[Formula],
    read: Sequence[QuantityCondition],
    named: set[Symbol],
    aimed: set[Symbol],
) -> dict[Symbol, int | None]:
    """Return the sizes that conditions determine row by row, each with its value in the model.

    These sizes are in no formula and were not named, and they share a condition with a named size or with another such
    size. If all named sizes are sizes of the run, there are none of the model's own: the question is then about the
    unchanged model, whose positions limit the length of a sequence. A size without a value that only a given condition
    contains is always one of them.
    """
    relations = {size: value for each in formulas for size, value in each.relations.items()}
    contained = aimed | {size for each in formulas for size in each.symbols}
    contained |= {size for name in named & relations.keys() for size in relations[name].free_symbols}
    asked = {size for each in read for name in each.sizes for size in relations.get(name, name).free_symbols}
    found = asked - contained - named - model.known.keys() - {column(each.measure.name) for each in formulas}
    if not all(letter(size).run for size in named):
        conditions = [
            {size for name in condition.symbols for size in relations.get(name, name).free_symbols}
            for condition in {*model.constraints, *(condition for each in formulas for condition in each.constraints)}
        ]
        conditions += [each.free_symbols for each in relations.values() if not (each.is_integer and each.is_positive)]
        while more := {
            size for sizes in conditions if sizes & (named | found) for size in sizes - contained - named - found
        }:
            found |= more
    known = {size: number for each in formulas if each.source for size, number in each.source.known.items()}
    return {size: known.get(size) for size in sorted(found, key=print_order)}


def condition_lines(
    numbers: Mapping[str, int],
    relations: Mapping[Symbol, Expr],
    free: Mapping[Symbol, int | None],
    names: Iterable[str],
    formulas: Sequence[Formula],
) -> list[Line]:
    """Return lines with the fixed sizes, the sizes defined by others, the free sizes and the conventions.

    ``names`` are the free sizes in use, and ``free`` has the preferred value of each.
    """
    found: list[Line] = []
    if numbers:
        found.append(["with " + ", ".join(f"{name} = {number:,}" for name, number in numbers.items())])
    found += [["where ", Math.of(size), " = ", Math.of(value)] for size, value in relations.items()]
    for name in names:
        preferred = free.get(named_symbol(name))
        closest = "the smallest value" if preferred is None else f"{preferred:,} or the closest value"
        found.append([f"{name} occurs only in conditions and is not set; each row uses {closest} that satisfies them"])
    for formula in (operand for each in formulas for operand in each.operands):
        concerned = find_quantity(formula.measure.name).shown_conventions(formula)
        found += [[setting(name, choice)] for name, choice in concerned.items()]
    return found


def _concerns(size: Symbol, formulas: Sequence[Formula], model: Model) -> None:
    """Raise SizeError for a size that does not affect the formulas, or that is a sum of other sizes."""
    for each in formulas:
        if size in each.totals:
            raise SizeError(f"{size} is {text(each.relations[size])} in {each.id}; use those sizes instead")
    if not any(size in each.accepted_sizes for each in formulas):
        ids = " and ".join(each.id for each in formulas)
        what = model.meaning(size)
        raise SizeError(f"{size} has no effect: {ids} does not depend on {size} ({what}); choose another size")
