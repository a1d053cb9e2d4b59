"""Facts for questions about a formula: its growth, its value for another preset, and the same model untied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sympy import Expr, Symbol, expand

from ..architectures import architecture
from ..formulas.derivation import substitution
from ..formulas.formula import Formula
from ..language.errors import SizeError
from ..language.frozen import Immutable
from ..language.sizes import Numbers, evaluate
from ..language.symbols import C, L, S, print_order
from ..output.chain import Chain
from .derivation_facts import QuantityFacts
from .formula_facts import SubjectFacts

DOUBLED = (S, C, L)  # the size to double: the first of them that a formula contains


@dataclass(frozen=True)
class DifferenceFacts:
    """The amount by which a formula grows or shrinks, with its value if every size has one."""

    expr: Expr
    value: int | None


@dataclass(frozen=True)
class PresetValueFacts:
    """Another preset with the same formula: its sizes, and its value step by step."""

    name: str
    sizes: Mapping[Symbol, int]  # those that the formula contains
    substitution: Chain


@dataclass(frozen=True)
class ExerciseFacts(Immutable):
    """Facts for questions about one formula of a model."""

    doubled: tuple[Symbol, DifferenceFacts] | None  # a size, and the growth of the formula if it doubles
    preset: PresetValueFacts | None
    untied: DifferenceFacts | None  # the parameters that an LM head with its own weights adds


def exercise_facts(subject: SubjectFacts, found: QuantityFacts) -> ExerciseFacts:
    """Return the facts for questions about a quantity of a model, each None if it does not apply."""
    formula, numbers = found.formula, _numbers(found.formula, subject.known)
    if not formula.additive:
        return ExerciseFacts(None, None, None)
    return ExerciseFacts(
        doubled=_doubled(formula, numbers),
        preset=_preset(found, subject.name),
        untied=_untied(found, numbers),
    )


def _numbers(formula: Formula, known: Numbers) -> Numbers | None:
    """Return the sizes with the totals that follow from them, or None if the formula has another size."""
    return formula.with_totals(known) if set(formula.symbols) <= known.keys() else None


def _difference(expr: Expr, numbers: Numbers | None, what: str) -> DifferenceFacts:
    complete = numbers is not None and expr.free_symbols <= numbers.keys()
    return DifferenceFacts(expr, evaluate(expr, numbers, what) if complete and numbers is not None else None)


def _doubled(formula: Formula, numbers: Numbers | None) -> tuple[Symbol, DifferenceFacts] | None:
    """Return the growth of a formula if one size doubles; None unless it is a polynomial in a size of its own."""
    expr = formula.display_expr
    size = next((each for each in DOUBLED if each in expr.free_symbols), None)
    tied = {each for target, value in formula.relations.items() for each in (target, *value.free_symbols)}
    if size is None or size in tied or not expr.is_polynomial(size):
        return None
    grown = formula.collect_totals(expand(expr.xreplace({size: 2 * size}) - expr))
    if numbers is not None and not _is_admissible(formula, {**numbers, size: 2 * numbers[size]}):
        numbers = None  # such as more tokens than learned positions
    return size, _difference(grown, numbers, formula.id)


def _is_admissible(formula: Formula, numbers: Numbers) -> bool:
    asked = {*formula.symbols, *formula.relations, *(size for rule in formula.constraints for size in rule.symbols)}
    try:
        formula.value({size: number for size, number in numbers.items() if size in asked})
    except SizeError:
        return False
    return True


def _preset(found: QuantityFacts, target: str) -> PresetValueFacts | None:
    """Return the first other preset with the formula and another value."""
    formula = found.formula
    for preset in found.examples.presets if found.examples else ():
        if preset.name == target or preset.value == found.value:
            continue
        numbers = formula.with_totals(architecture(preset.name).known)
        sizes = {size: numbers[size] for size in sorted(formula.display_expr.free_symbols, key=print_order)}
        return PresetValueFacts(preset.name, sizes, substitution(formula.display_expr, numbers))
    return None


def _untied(found: QuantityFacts, numbers: Numbers | None) -> DifferenceFacts | None:
    """Return the parameters of an LM head with its own weights; None for a model whose head is not tied."""
    formula = found.formula
    for variant in found.examples.variants if found.examples else ():
        difference = expand(variant.formula.display_expr - formula.display_expr)
        if variant.options == "tied=false" and difference != 0:
            return _difference(difference, numbers, formula.id)
    return None
