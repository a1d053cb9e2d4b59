"""Everything that a derivation states, gathered once from a model, its quantities and its conventions.

Documents lay these facts out. They request no formula, compute no value, and look up no preset and no certificate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sympy import Expr, Integer, Symbol, expand

from ..algebra.structure import QUANTITIES as COMPARED
from ..architectures.base_architecture import Architecture
from ..catalogue.measured_model import MeasuredModel
from ..formulas import ranks
from ..formulas.account import Line
from ..formulas.derivation import Derivation
from ..formulas.formula import Formula
from ..formulas.operation_names import row_names
from ..formulas.ratio import Ratio
from ..formulas.rewriting import Rewriting
from ..language.errors import CatalogueError, RuleError, SymformerError
from ..language.frozen import Immutable
from ..language.notation.display_tree import Label
from ..language.sizes import Numbers, evaluate
from ..ledger.facts import Ledger, Scope
from ..models.model import Model
from ..models.provenance import ConfigLocation
from ..output.blocks import Line as Sentence
from ..quantities import quantity as find_quantity
from ..quantities.elementwise import Count, printed_table
from ..quantities.quantity import Quantity
from .example_facts import ExampleFacts, example_facts, with_numbers
from .figure_facts import FigureFacts, figure_of
from .formula_facts import (
    CheckFacts,
    ConditionFacts,
    SubjectFacts,
    changed_conventions,
    check_of,
    conditions_of,
    is_per_rank,
    subject_of,
)
from .purpose_totals import purposes
from .relative_facts import RelativeFacts, relative_facts
from .summary import share, show_json, unused_notes


@dataclass(frozen=True)
class ConventionFacts:
    """A convention of a formula, with the meaning of its value."""

    name: str
    value: str
    meaning: str


@dataclass(frozen=True)
class AmountFacts:
    """An amount of a formula: of a row, a part or a purpose."""

    name: str
    count: Expr
    each: Expr
    value: int | Fraction | None  # of all copies; None if a size has no value
    share: Fraction | None  # of the total


@dataclass(frozen=True)
class DefinitionFacts:
    """The definition of a formula: the quantity it counts, and the conventions in use."""

    statement: str
    basis: str  # the basis of its numbers: a layout of bytes, the convention of an engine, a bound, or ""
    conventions: tuple[ConventionFacts, ...]
    elementwise: tuple[tuple[str, Count], ...]  # the counts of elementwise operations, if they are included
    without_effect: tuple[str, ...]  # a sentence for each given size and convention that has no effect
    ranks: tuple[Sentence, ...]  # a sentence on the number of ranks of a per-rank formula


@dataclass(frozen=True)
class PartFacts:
    """The derivation of a formula part by part, and the ledger from which the computation of a part is read."""

    steps: Derivation
    columns: tuple[str, str]  # the headers of a part's table
    ledger: Ledger
    is_model: bool  # False for a component
    layers: tuple[Symbol, ...]  # the size that counts each layer, in order; () if the order is not known
    known: Numbers  # the sizes of the model
    run: Ledger | None = None  # of a traced model: the operations recognized in a run
    run_refusal: str = ""  # why the operations of a traced model are not known


@dataclass(frozen=True)
class QuantityFacts(Immutable):
    """Everything that a chapter states about one quantity of a model."""

    formula: Formula
    value: int | Fraction | None  # None if a size has no value
    definition: DefinitionFacts
    conditions: ConditionFacts
    params: Label | None  # the number of parameters, of which training memory is a multiple
    purposes: tuple[AmountFacts, ...]
    rows: tuple[AmountFacts, ...]  # without those that are zero
    totals: tuple[AmountFacts, ...]  # of the parts of the model and of its layers, without those that are zero
    parts: PartFacts | None  # None for a ratio, and if only the short form is needed
    examples: ExampleFacts | None  # None for a ratio, and if only the short form is needed
    forms: tuple[Rewriting, ...]  # the other forms that are requested
    check: CheckFacts
    checked: str  # how a quantity is checked that torch does not count


@dataclass(frozen=True)
class DerivationFacts(Immutable):
    """Everything that a derivation states: one entry per quantity, and the quantities without a formula."""

    subject: SubjectFacts  # with the sizes of an example if the model has none
    conventions: Mapping[str, str]  # that differ from the defaults
    places: Mapping[str, ConfigLocation]  # the config field of each size, by letter
    quantities: tuple[QuantityFacts, ...]
    refused: tuple[tuple[str, str], ...]  # the names of quantities without a formula, and why
    figure: FigureFacts | None  # None for a ratio, which is not a sum over boxes
    relative: RelativeFacts | None  # None for a short form, for ranks, and for a model without a relative
    json: tuple[Mapping[str, Any], ...]  # of each formula, as ``show --json`` prints it


def formulas_of(model: Model, quantities: Sequence[str], conventions: Mapping[str, str]) -> list[Formula]:
    """Return the formula of each quantity under the conventions that apply to it. Raises SymformerError."""
    found = [_formula_of(model, name, conventions) for name in quantities]
    model.check_run_sizes(found)
    return found


def _formula_of(model: Model, name: str, conventions: Mapping[str, str]) -> Formula:
    known = find_quantity(name).choices
    return model.formula(name, **{key: value for key, value in conventions.items() if key in known})


def derivation_facts(
    model: Model,
    quantities: Sequence[str],
    conventions: Mapping[str, str],
    full: bool = True,
    skip_refused: bool = False,
    forms: Sequence[str] = (),
) -> DerivationFacts:
    """Return the facts of a derivation.

    Parameters
    ----------
    model
        The model to derive formulas for. Its sizes, if any, supply the numbers.
    quantities
        Names of the quantities.
    conventions
        Values of conventions; each quantity uses those it has.
    full
        Whether to include what only the full form shows.
    skip_refused
        Whether to list an unsupported quantity with the reason instead of raising RuleError.
    forms
        Other forms of each formula, as for :meth:`Formula.rewritten`.

    Raises
    ------
    UnknownNameError
        If a quantity or a convention is unknown.
    OptionError
        If a convention has an invalid value.
    RuleError
        If the model does not support a quantity and ``skip_refused`` is false.

    """
    formulas: list[Formula] = []
    refused: list[tuple[str, str]] = []
    for name in quantities:
        try:
            formulas.append(_formula_of(model, name, conventions))
        except RuleError as error:
            if not skip_refused:
                raise
            refused.append((name, str(error)))
    if not skip_refused:
        model.check_run_sizes(formulas)
    shown = with_numbers(model)
    subject = subject_of(shown)
    # A size that only the operations of a run have, such as a window, has its place from the names of the class.
    places = {own: ConfigLocation(name) for name, own in reversed([*shown.provenance.names.items()])}
    for formula in reversed(formulas):  # the first quantity that has a size decides
        places |= shown.provenance.for_quantity(formula.measure.name).places
    found = tuple(_quantity_facts(shown, subject.known, formula, full, forms) for formula in formulas)
    first = found[0] if found and found[0].formula.additive else None
    return DerivationFacts(
        subject=subject,
        conventions=changed_conventions(formulas),
        places=places,
        quantities=found,
        refused=tuple(refused),
        figure=_figure(shown, subject, first) if first else None,
        relative=_relative(model, formulas) if full else None,
        json=tuple({**show_json(model, each), "id": each.id, "target": model.name} for each in formulas),
    )


def _relative(model: Model, formulas: Sequence[Formula]) -> RelativeFacts | None:
    """Return the nearest relative, with the difference of the first quantity that a comparison of structures has.

    Return None if there is none of these quantities that counts the whole model on one rank.
    """
    whole = [each for each in formulas if each.measure.name in COMPARED and not is_per_rank(each)]
    return relative_facts(model, whole[0].measure.name, whole[0].conventions) if whole else None


def _quantity_facts(model: Model, known: Numbers, formula: Formula, full: bool, forms: Sequence[str]) -> QuantityFacts:
    """Return the facts of one quantity of a model at its known sizes."""
    if isinstance(formula, Ratio) and formula.denominator.expanded == 0:
        raise RuleError(f"{formula.id} is undefined: its {formula.denominator.measure.title} are 0")
    question = find_quantity(formula.measure.name)
    numbers = known if known and set(formula.symbols) <= known.keys() else None
    value = formula.value(numbers) if numbers else None
    complete = formula.with_totals(numbers) if numbers is not None else None
    check = check_of(model, formula)
    conditions = conditions_of(model, formula)
    full = full and formula.additive
    return QuantityFacts(
        formula=formula,
        value=value,
        definition=_definition(model, question, formula, known),
        conditions=conditions,
        params=_params(model, formula),
        purposes=_purposes(formula, formula.with_totals(known), value),
        rows=tuple(_rows(formula, complete, value)),
        totals=tuple(_totals(formula, complete, value)) if formula.additive else (),
        parts=_parts(formula, question, model, check.from_torch) if full else None,
        examples=example_facts(model, formula, complete) if full else None,
        forms=tuple(formula.rewritten(form) for form in forms),
        check=check,
        checked=question.checked_by,
    )


def _without_effect(formula: Formula) -> set[str]:
    """Return the conventions that say nothing about a formula: sharding for one rank, recomputation of no tensors."""
    chosen = formula.conventions
    sharding = {"data"} if chosen.get("data") == "off" and not is_per_rank(formula) else set()
    return sharding | ({"recompute"} if chosen.get("implementation") == "none" else set())


def _definition(model: Model, question: Quantity, formula: Formula, known: Numbers) -> DefinitionFacts:
    """Return the definition of a quantity, with the conventions that affect the formula."""
    return DefinitionFacts(
        statement=question.statement_for(formula),
        basis=question.basis_for(formula),
        conventions=tuple(
            ConventionFacts(name, value, question.meaning_for(name, formula))
            for name, value in question.shown_conventions(formula).items()
            if name not in _without_effect(formula)
        ),
        elementwise=tuple(printed_table()) if formula.conventions.get("count") == "all" else (),
        without_effect=tuple(unused_notes(model, known, formula)),
        ranks=tuple(ranks.stated(formula.ranks, known)),
    )


def _parts(formula: Formula, question: Quantity, model: Model, from_torch: bool) -> PartFacts:
    """Return the derivation of a formula part by part."""
    component = model.component
    run, refusal = _run(component) if isinstance(component, MeasuredModel) else (None, "")
    return PartFacts(
        steps=formula.derivation,
        columns=question.columns,
        ledger=component.ledger,
        is_model=from_torch or isinstance(component, Architecture),
        layers=model.provenance.layers,
        known=model.known,
        run=run,
        run_refusal=refusal,
    )


def _run(component: MeasuredModel) -> tuple[Ledger, str]:
    """Return the operations of a traced model, and why they are not known if the catalogue has none."""
    unknown = Ledger(Scope("", component), None)
    if component.stored_run is None:
        return unknown, ""
    try:
        return component.stored_run(), ""
    except CatalogueError as error:
        return unknown, error.run_refusal or str(error)


def _params(model: Model, formula: Formula) -> Label | None:
    """Return the label of the number of parameters for training memory, or None if it has no formula."""
    if formula.measure.name != "train-memory":
        return None
    try:
        params = _formula_of(model, "params", formula.conventions)
    except SymformerError:
        return None
    return Label(params.measure.letter, "", params.display_expr)


def _figure(model: Model, subject: SubjectFacts, first: QuantityFacts) -> FigureFacts | None:
    """Return the facts of the figure; None if the amounts of each kind of layers are not known."""
    try:
        return figure_of(subject, model.component, first.formula, first.value, model.provenance.layers)
    except RuleError:
        return None


def _purposes(formula: Formula, known: Numbers, total: int | None) -> tuple[AmountFacts, ...]:
    """Return the amounts of the purposes, with a value for those whose sizes are all known."""
    found = purposes(formula) if formula.additive else {}
    facts = []
    for what, each in found.items():
        own = each.xreplace(formula.relations)
        numbers = known if own.free_symbols <= known.keys() else None
        facts.append(_amount(what, Integer(1), each, own, numbers, total))
    return tuple(facts)


def _rows(formula: Formula, numbers: Numbers | None, total: int | None) -> Iterator[AmountFacts]:
    """Yield the rows that are not zero; the rows of a ratio are ratios too."""
    names = row_names(formula.root)
    for row in formula.rows:
        if row.each == 0:
            continue
        name = names.get(row.path, row.path)
        if formula.additive:
            yield _amount(name, row.count, row.each, row.total, numbers, total)
        else:
            yield AmountFacts(name, row.count, row.each, formula.row_total(row, numbers) if numbers else None, None)


def _totals(formula: Formula, numbers: Numbers | None, total: int | None) -> Iterator[AmountFacts]:
    """Yield the parts of the model and of its layers, without those that are zero."""
    for count, line in _pieces(formula.root, Integer(1)):
        each = expand(line.each.xreplace(formula.display_relations))
        yield _amount(line.path, count, each, (count * each).xreplace(formula.relations), numbers, total)


def _pieces(line: Line, count: Expr) -> Iterator[tuple[Expr, Line]]:
    """Yield the nonzero parts of the model and of its layers, each with its number of copies."""
    for below in line.lines:
        if below.each == 0:
            continue
        copies = count * below.count
        if below.path.endswith("*") and any(inner.entry is None and inner.each != 0 for inner in below.lines):
            yield from _pieces(below, copies)
        else:
            yield copies, below


def _amount(name: str, count: Expr, each: Expr, whole: Expr, numbers: Numbers | None, total: int | None) -> AmountFacts:
    """Return an amount, with the value of all copies if its sizes have values, and its share of a known total."""
    if numbers is None:
        return AmountFacts(name, count, each, None, None)
    value = evaluate(whole, numbers, name)
    return AmountFacts(name, count, each, value, share(value, total) if total is not None else None)
