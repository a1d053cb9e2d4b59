"""The inputs of a search or sweep: a model with some sizes fixed, some defined by others, and some unknown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sympy import Expr, Symbol

from ..architectures import composed_model
from ..formulas.formula import Formula
from ..language.errors import SizeError, UnknownNameError
from ..language.notation.text import text
from ..language.sizes import check_relation
from ..language.symbols import letter, named_symbol, print_order, symbol
from ..language.target import AnyTarget
from ..models.model import Model
from ..output.blocks import Line, Math, setting
from ..quantities import quantity as find_quantity
from ..quantities.spellings import spelled

Given = Mapping[str, int | Expr] | None
Where = Mapping[str, str | Expr] | None


@dataclass(frozen=True)
class OpenModel:
    """A model whose open sizes are symbols in its formulas."""

    model: Model
    formulas: tuple[Formula, ...]
    relations: Mapping[Symbol, Expr]  # the sizes that are defined by others
    free: Mapping[Symbol, int | None]  # the sizes determined by conditions, each with its value in the model

    @classmethod
    def of(
        cls,
        target: Model | AnyTarget,
        open_sizes: Iterable[str],
        quantities: Sequence[str],
        given: Given,
        where: Where,
        conventions: Mapping[str, str],
    ) -> OpenModel:
        """Return the model and formulas with unknown sizes. Raises SizeError, OptionError, UnknownNameError."""
        model = composed_model(target)
        names, own = tuple(map(model.size_name, open_sizes)), model.settable
        given = {model.size_name(name): value for name, value in (given or {}).items()}
        where = {model.size_name(name): value for name, value in (where or {}).items()}
        if twice := [name for name in given if name in where]:
            raise SizeError(f"{twice[0]} is in sizes and in relations; keep one")
        fixed = {name: check_relation(symbol(name, own), value, own) for name, value in {**given, **where}.items()}
        for name in names:
            if name in fixed:
                raise SizeError(
                    f"{name} is varied or solved for, but also set to {text(fixed[name])}; remove one of the two"
                )
        sizes = {name: symbol(name, own) for name in names}
        free = {name: size for name, size in sizes.items() if size in own}
        model = model.set_unchecked({**fixed, **free})
        formulas = _formulas(model, quantities, conventions)
        for name in names:
            _concerns(sizes[name], formulas, model)
        decided = _free(model, formulas, {*map(named_symbol, (*names, *fixed))})
        if any(size in model.numbers for size in decided):
            model = replace(model, numbers={size: each for size, each in model.numbers.items() if size not in decided})
            formulas = _formulas(model, quantities, conventions)
        model.validated().check_run_sizes(formulas)
        relations = {size: value for each in formulas for size, value in each.relations.items()}
        follows = {
            size: relations[size]
            for size in map(named_symbol, where)
            if size in relations and not relations[size].is_number
        }
        return cls(model, tuple(formulas), follows, decided)


def _formulas(model: Model, quantities: Sequence[str], conventions: Mapping[str, str]) -> list[Formula]:
    """Return the formula of each quantity, with the conventions that apply to it. Raises UnknownNameError."""
    every = {key: choice for name in quantities for key, choice in find_quantity(name).choices.items()}
    conventions = spelled(conventions, every)
    for key in conventions:
        if key not in every:
            raise UnknownNameError(f"convention of {' and '.join(quantities)}", key, every)
    found = []
    for name in quantities:
        known = find_quantity(name).choices
        found.append(model.formula(name, **{key: value for key, value in conventions.items() if key in known}))
    return found


def _free(model: Model, formulas: Sequence[Formula], named: set[Symbol]) -> dict[Symbol, int | None]:
    """Return the sizes that conditions determine row by row, each with its value in the model.

    These sizes are in no formula and were not named, and they share a condition with a named size or with another such
    size. If all named sizes are sizes of the run, there are none: the question is then about the unchanged model, whose
    positions limit the length of a sequence.
    """
    if all(letter(size).run for size in named):
        return {}
    relations = {size: value for each in formulas for size, value in each.relations.items()}
    contained = {size for each in formulas for size in each.symbols}
    conditions = [
        {size for name in condition.symbols for size in relations.get(name, name).free_symbols}
        for condition in {*model.constraints, *(condition for each in formulas for condition in each.constraints)}
    ]
    conditions += [each.free_symbols for each in relations.values() if not (each.is_integer and each.is_positive)]
    found: set[Symbol] = set()
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
    for formula in formulas:
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
