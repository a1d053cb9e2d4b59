"""Everything that a derivation states, gathered once from a model, its quantities and its conventions.

Documents lay these facts out. They request no formula, compute no value, and look up no preset and no certificate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sympy import Expr, Integer, Symbol, expand

from ..architectures import presets, variant
from ..architectures.base_architecture import Architecture
from ..components.base import Component, spell_option
from ..formulas import ranks
from ..formulas.account import Line, Term
from ..formulas.derivation import Derivation, substitution
from ..formulas.formula import Formula
from ..formulas.ratio import Ratio
from ..language.errors import RuleError, SymformerError
from ..language.frozen import Immutable
from ..language.notation.display_tree import Label
from ..language.sizes import Numbers, evaluate
from ..language.target import name_of
from ..ledger.facts import ATTENDING, CARRYING, Ledger, OperationKind
from ..models.model import Model
from ..models.provenance import ConfigLocation
from ..output.blocks import Line as Sentence
from ..output.chain import Chain
from ..quantities import quantity as find_quantity
from ..quantities.elementwise import Count, printed_table
from .figure_facts import FigureFacts, figure_facts
from .formula_facts import (
    CheckFacts,
    ConditionFacts,
    SubjectFacts,
    changed_conventions,
    changed_sizes,
    check_of,
    conditions_of,
    is_per_rank,
    subject_of,
)
from .preset_models import example_of, other_preset, presets_sharing, value_at, with_numbers
from .summary import share, show_json, unused_size_notes

LISTED = 14  # the most presets that a page lists; some architectures have a hundred
MATRICES, ATTENTION, SCAN, ELEMENTS = "matrices", "attention", "state-space scan", "element by element"


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
class LeadingFacts:
    """The leading terms of a formula."""

    expr: Expr
    omitted: Fraction | None  # the share of the total that they omit
    other: tuple[str, Fraction] | None  # another preset with the share that they omit there


@dataclass(frozen=True)
class PresetFacts:
    """A preset with the formula: its value and the source of its sizes."""

    name: str
    value: int
    source: str


@dataclass(frozen=True)
class VariantFacts:
    """The formula of a variant of the model, with the value of an example."""

    options: str  # that differ from the model's
    formula: Formula
    value: int | None
    example: str  # the name of the example, if it is not the subject of the chapter


@dataclass(frozen=True)
class ExampleFacts:
    """What only the full form of a chapter shows: leading terms, substitution, presets and variants."""

    leading: LeadingFacts | None
    substitution: Chain | None  # from the formula to its value
    presets: tuple[PresetFacts, ...]
    more_presets: int  # that have the formula too
    variants: tuple[VariantFacts, ...]


@dataclass(frozen=True)
class QuantityFacts(Immutable):
    """Everything that a chapter states about one quantity of a model."""

    formula: Formula
    subject: SubjectFacts
    value: int | Fraction | None  # None if a size has no value
    definition: str
    columns: tuple[str, str]  # the headers of a part's table
    conventions: tuple[ConventionFacts, ...]
    options: Mapping[str, str]  # the non-default options of the model
    elementwise: tuple[tuple[str, Count], ...]  # the counts of elementwise operations, if they are included
    without_effect: tuple[str, ...]  # a sentence for each given size that has no effect
    ranks: tuple[Sentence, ...]  # a sentence on the number of ranks of a per-rank formula
    conditions: ConditionFacts
    places: Mapping[str, ConfigLocation]  # the config field of each size, by letter
    params: Label | None  # the number of parameters, of which training memory is a multiple
    purposes: tuple[AmountFacts, ...]
    rows: tuple[AmountFacts, ...]  # without those that are zero
    parts: tuple[AmountFacts, ...]  # of the model and of its layers, without those that are zero
    steps: Derivation | None  # None for a ratio, and if only the short form is needed
    examples: ExampleFacts | None  # None for a ratio, and if only the short form is needed
    check: CheckFacts
    checked: str  # how a quantity is checked that torch does not count
    ledger: Ledger | None  # None for a traced model, whose parts have no computations
    whole_model: bool  # False for a component
    json: Mapping[str, Any]  # as ``show --json`` prints it

    @property
    def per_rank(self) -> bool:
        """Return True if the formula is per rank."""
        return self.subject.per_rank

    @property
    def has_numbers(self) -> bool:
        """Return True if every size has a value."""
        return self.value is not None


@dataclass(frozen=True)
class DerivationFacts(Immutable):
    """Everything that a derivation states: one entry per quantity, and the quantities without a formula."""

    id: str  # the start of the ids of its formulas
    title: str
    options: Mapping[str, str]  # the non-default options of the model
    sizes: Mapping[Symbol, Expr]  # the sizes and relations that differ from the target's
    has_own_sizes: bool  # True if the target has sizes
    conventions: Mapping[str, str]  # that differ from the defaults
    quantities: tuple[QuantityFacts, ...]
    refused: tuple[tuple[str, str], ...]  # the names of quantities without a formula, and why
    figure: FigureFacts | None  # None for a short form, and for a ratio, which is not a sum over boxes


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
    if not skip_refused:
        formulas = formulas_of(model, quantities, conventions)
    for name in quantities if skip_refused else ():
        try:
            formulas.append(_formula_of(model, name, conventions))
        except RuleError as error:
            refused.append((name, str(error)))
    shown = with_numbers(model)
    return DerivationFacts(
        id=model.id,
        title=model.title,
        options=model.component.changed_options,
        sizes=changed_sizes(model),
        has_own_sizes=bool(model.provenance.numbers),
        conventions=changed_conventions(formulas),
        quantities=tuple(_quantity_facts(model, shown, formula, full) for formula in formulas),
        refused=tuple(refused),
        figure=figure_facts(shown, formulas[0]) if full and formulas and formulas[0].additive else None,
    )


def _quantity_facts(model: Model, shown: Model, formula: Formula, full: bool) -> QuantityFacts:
    """Return the facts of one quantity of a model; ``shown`` is the model with the numbers of an example."""
    if isinstance(formula, Ratio) and formula.denominator.expanded == 0:
        raise RuleError(f"{formula.id} is undefined: its {formula.denominator.measure.title} are 0")
    question, component = find_quantity(formula.measure.name), model.component
    subject = subject_of(shown, formula)
    numbers = subject.known if subject.known and set(formula.symbols) <= subject.known.keys() else None
    value = formula.value(dict(numbers)) if numbers else None
    check = check_of(model, formula)
    return QuantityFacts(
        formula=formula,
        subject=subject,
        value=value,
        definition=question.statement_for(formula),
        columns=question.columns,
        conventions=_conventions(formula),
        options=component.changed_options,
        elementwise=tuple(printed_table()) if formula.conventions.get("count") == "all" else (),
        without_effect=tuple(unused_size_notes(model, formula)),
        ranks=tuple(ranks.stated(formula.ranks, subject.known)),
        conditions=conditions_of(model, formula),
        places=shown.provenance.for_quantity(formula.measure.name).places,
        params=_params(model, formula),
        purposes=_purposes(formula, numbers, value),
        rows=tuple(_rows(formula, numbers, value)),
        parts=tuple(_parts(formula, numbers, value)) if formula.additive else (),
        steps=formula.derivation if full and formula.additive else None,
        examples=_examples(model, shown, formula, subject, numbers) if full and formula.additive else None,
        check=check,
        checked=question.checked_by,
        ledger=component.ledger if isinstance(component, Component) else None,
        whole_model=check.from_torch or isinstance(component, Architecture),
        json={**show_json(model, formula), "id": formula.id, "target": name_of(model.target)},
    )


def _conventions(formula: Formula) -> tuple[ConventionFacts, ...]:
    """Return the conventions that affect a formula; the sharding of data only if there is more than one rank."""
    question = find_quantity(formula.measure.name)
    return tuple(
        ConventionFacts(name, value, question.choices[name].meanings[value])
        for name, value in question.shown_conventions(formula).items()
        if (name, value) != ("data", "off") or is_per_rank(formula)
    )


def _params(model: Model, formula: Formula) -> Label | None:
    """Return the label of the number of parameters for training memory, or None if it has no formula."""
    if formula.measure.name != "train-memory":
        return None
    try:
        params = _formula_of(model, "params", formula.conventions)
    except SymformerError:
        return None
    return Label(params.measure.letter, "", params.display_expr)


def purposes(formula: Formula) -> dict[str, Expr]:
    """Return the amount for each purpose of a quantity; the amounts sum to the formula.

    >>> import symformer as sf
    >>> {what: str(each) for what, each in purposes(sf.architecture("gpt2").formula("flops", attention="full")).items()}
    {'matrices': '24*B*E**2*L*S + 2*B*E*S*V', 'attention': '4*B*E*L*S**2'}
    """
    found: dict[str, Expr] = {}
    for count, line in formula.root.leaves():
        for term in line.terms:
            what = _purpose(line, term, formula.measure.unit)
            found[what] = found.get(what, Integer(0)) + count * term.expr
    if "" in found:
        return {}
    sums = {
        what: formula.collect_totals(expand(each.xreplace(formula.display_relations))) for what, each in found.items()
    }
    return {what: each for what, each in sums.items() if each != 0}


def _purpose(line: Line, term: Term, unit: str) -> str:
    if term.purpose or unit not in ("FLOPs", "MACs") or line.entry is None:
        return term.purpose
    if line.entry.kind in ATTENDING:
        return ATTENTION
    if line.entry.kind in CARRYING:
        return SCAN
    return (
        MATRICES
        if line.entry.kind in (OperationKind.LINEAR, OperationKind.EXPERTS, OperationKind.CONVOLUTION)
        else ELEMENTS
    )


def _purposes(formula: Formula, numbers: Numbers | None, total: int | None) -> tuple[AmountFacts, ...]:
    found = purposes(formula) if formula.additive else {}
    return tuple(
        _amount(what, Integer(1), each, each.xreplace(formula.relations), numbers, total)
        for what, each in found.items()
    )


def _rows(formula: Formula, numbers: Numbers | None, total: int | None) -> Iterator[AmountFacts]:
    """Yield the rows that are not zero; the rows of a ratio are ratios too."""
    for row in formula.rows:
        if row.each == 0:
            continue
        if formula.additive:
            yield _amount(row.path, row.count, row.each, row.total, numbers, total)
        else:
            yield AmountFacts(row.path, row.count, row.each, formula.row_total(row, numbers) if numbers else None, None)


def _parts(formula: Formula, numbers: Numbers | None, total: int | None) -> Iterator[AmountFacts]:
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
    """Return an amount, with the value of all copies and its share of the total if every size has a value."""
    if numbers is None or total is None:
        return AmountFacts(name, count, each, None, None)
    value = evaluate(whole, numbers, name)
    return AmountFacts(name, count, each, value, share(value, total))


def _examples(
    model: Model, shown: Model, formula: Formula, subject: SubjectFacts, numbers: Numbers | None
) -> ExampleFacts:
    is_architecture = isinstance(model.component, Architecture)
    sharing = presets_sharing(model, formula) if is_architecture else []
    return ExampleFacts(
        leading=_leading(shown, formula, numbers),
        substitution=substitution(formula.display_expr, numbers) if numbers else None,
        presets=tuple(
            PresetFacts(preset.target, value_at(formula, preset), presets()[preset.target]["source"])
            for preset in sharing[:LISTED]
        ),
        more_presets=max(len(sharing) - LISTED, 0),
        variants=tuple(_variants(model, shown, formula)) if is_architecture else (),
    )


def _leading(shown: Model, formula: Formula, numbers: Numbers | None) -> LeadingFacts | None:
    """Return the leading terms; None if there are no other terms."""
    leading = formula.leading()
    if leading.rest == 0:
        return None
    if not numbers:
        return LeadingFacts(leading.expr, None, None)
    other = other_preset(shown, formula)
    there = (other.target, leading.omitted_share(other.known)) if other else None
    return LeadingFacts(leading.expr, leading.omitted_share(numbers), there)


def _variants(model: Model, shown: Model, formula: Formula) -> Iterator[VariantFacts]:
    """Yield the other variants of an architecture that support the quantity."""
    component = model.component
    for options in component.variants if isinstance(component, Architecture) else ():
        other = variant(model, options)
        if other.component == component:
            continue
        try:
            sibling = other.formula(formula.measure.name, **formula.conventions)
        except RuleError:  # this variant does not support the quantity
            continue
        both = {name: (getattr(other.component, name), getattr(component, name)) for name in component.choices()}
        spelt = ", ".join(f"{name}={spell_option(ours)}" for name, (ours, theirs) in both.items() if ours != theirs)
        example = example_of(other, sibling, shown)
        value = value_at(sibling, example) if example else None
        yield VariantFacts(spelt, sibling, value, example.target if example and example.target != shown.target else "")
