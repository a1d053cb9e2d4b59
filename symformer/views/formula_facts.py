"""Facts about one formula of a model: its subject, its conditions and its check against torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sympy import Expr, Integer, Symbol

from ..architectures.base_architecture import Architecture
from ..certificates import Certificate, certificate_for
from ..components.base import spell_option
from ..formulas.formula import Formula, affects_formula
from ..language.frozen import Immutable
from ..language.sizes import Condition, Numbers
from ..language.symbols import letter, print_order
from ..models.model import Model
from ..models.provenance import Pinned, TraceEvidence
from ..quantities import quantity as find_quantity
from ..quantities.quantity import PLACEMENT


def is_per_rank(formula: Formula) -> bool:
    """Return True if a formula is per rank, whether the ranks divide the model or only its data."""
    conventions = formula.conventions
    return any(name in PLACEMENT for name in conventions) or conventions.get("data", "off") != "off"


@dataclass(frozen=True)
class SubjectFacts(Immutable):
    """A model whose numbers are shown, and how its options and sizes differ from its target's."""

    id: str  # the start of the ids of its formulas
    title: str
    name: str  # of the target
    options: Mapping[str, str]  # the non-default options
    changed_options: tuple[str, ...]  # those that differ from the target's, as name=value
    changed_sizes: Mapping[Symbol, Expr]  # the sizes and relations (not of a run) that differ from the target's
    has_own_sizes: bool  # True if the target has sizes
    known: Numbers
    run: Numbers  # the known sizes of a run
    commit: str  # of the Hub repository that the sizes come from
    notes: tuple[str, ...]  # on how the config was read


def subject_of(model: Model) -> SubjectFacts:
    """Return the subject of a document: the model and its changes."""
    own = model.provenance
    component = model.component
    known = model.known
    usual = {name: spell_option(getattr(component, name)) for name in component.choices() if name in own.options}
    options = {**usual, **component.changed_options}
    between = own.relations if own.numbers else component.relations
    sizes: dict[Symbol, Expr] = {
        size: Integer(number)
        for size, number in model.numbers.items()
        if not letter(size).run and own.numbers.get(size) != number
    }
    sizes |= {size: value for size, value in model.relations.items() if between.get(size) != value}
    return SubjectFacts(
        id=model.id,
        title=model.title,
        name=model.name,
        options=component.changed_options,
        changed_options=tuple(f"{name}={value}" for name, value in options.items() if own.options.get(name) != value),
        changed_sizes={size: sizes[size] for size in sorted(sizes, key=print_order)},
        has_own_sizes=bool(own.numbers),
        known=known,
        run={size: number for size, number in known.items() if letter(size).run},
        commit=own.commit,
        notes=own.notes,
    )


def changed_conventions(formulas: Sequence[Formula]) -> dict[str, str]:
    """Return the conventions of formulas that differ from the defaults."""
    found: dict[str, str] = {}
    for formula in formulas:
        usual = find_quantity(formula.measure.name).choose({})
        found |= {name: value for name, value in formula.conventions.items() if usual.get(name) != value}
    return found


@dataclass(frozen=True)
class ConditionFacts(Immutable):
    """The conditions under which a formula holds."""

    pinned: tuple[Pinned, ...]  # sizes that its trace keeps at one value
    ties: Mapping[str, str]  # sizes that its trace keeps equal
    patterns: Mapping[str, tuple[str, ...]]  # lists of layer kinds, with the kinds that they repeat
    relations: Mapping[Symbol, Expr]
    constraints: tuple[Condition, ...]


def conditions_of(model: Model, formula: Formula) -> ConditionFacts:
    """Return the conditions under which a formula holds, without those on sizes that it does not use."""
    evidence = model.provenance.for_quantity(formula.measure.name).reading
    own = {*formula.symbols, *(size for rule in formula.constraints for size in rule.symbols)}
    return ConditionFacts(
        pinned=evidence.pinned if evidence else (),
        ties=evidence.ties if evidence else {},
        patterns=evidence.patterns if evidence else {},
        relations={size: value for size, value in formula.relations.items() if own & {size, *value.free_symbols}},
        constraints=tuple(each for each in formula.constraints if affects_formula(each, formula)),
    )


@dataclass(frozen=True)
class CheckFacts(Immutable):
    """How a formula is checked against torch: by the trace that found it, by a certificate, or otherwise."""

    formula: Formula
    title: str  # of the model
    evidence: TraceEvidence | None  # of a traced formula
    module: str  # the version of torch, if the rows are the parameters of one module
    from_catalogue: bool
    certificate: Certificate | None
    explanation: str  # how a formula without a certificate is checked; "" if it is not
    required: tuple[Condition, ...] = ()  # conditions of the class that the formula does not need

    @property
    def per_rank(self) -> bool:
        """Return True if the formula is per rank, while a certificate is for the whole model."""
        return is_per_rank(self.formula)

    @property
    def from_torch(self) -> bool:
        """Return True if the formula was obtained from torch itself."""
        return self.evidence is not None or bool(self.module)

    @property
    def of_params(self) -> bool:
        """Return True if the certificate is for the number of parameters, whose rows are the same."""
        return self.certificate is not None and self.certificate.id != self.formula.id

    @property
    def is_exact(self) -> bool:
        """Return True if a certificate or a trace checks this exact formula; per-rank formulas have none."""
        if self.per_rank or self.from_torch:
            return not self.per_rank
        certificate = self.certificate
        return certificate is not None and (
            self.of_params or dict(certificate.conventions) == dict(self.formula.conventions)
        )


def check_of(model: Model, formula: Formula) -> CheckFacts:
    """Return how a formula is checked against torch."""
    found = model.provenance.for_quantity(formula.measure.name)
    certificate = None if found.from_torch else _certificate_of(model, formula)
    explanation = find_quantity(formula.measure.name).check_description(formula) if certificate is None else ""
    required = model.component.witness.conditions if certificate and isinstance(model.component, Architecture) else ()
    return CheckFacts(
        formula, model.title, found.reading, found.module, found.by == "catalogue", certificate, explanation, required
    )


def _certificate_of(model: Model, formula: Formula) -> Certificate | None:
    """Return the certificate of a formula, or of the number of parameters if that formula has the same rows."""
    if found := certificate_for(model, formula):
        return found
    params = model.formula()
    same = params.measure.unit == formula.measure.unit and params.digest == formula.digest
    return certificate_for(model, params) if same else None
