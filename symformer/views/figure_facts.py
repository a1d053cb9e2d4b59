"""The facts that the figure of a model shows: its formula, and the account of each kind of layer."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sympy import Symbol, cancel, expand

from ..architectures.base_architecture import Architecture
from ..catalogue.measured_model import MeasuredModel
from ..catalogue.recognized_model import RecognizedModel
from ..components.base import Component
from ..formulas.account import Line
from ..formulas.formula import Formula
from ..language.errors import DerivationError, OptionError
from ..ledger.facts import Ledger
from ..ledger.placement import WHOLE, Placement, place
from ..models.model import Model
from ..quantities import quantity as find_quantity
from .formula_facts import SubjectFacts, subject_of
from .summary import value_of


@dataclass(frozen=True)
class FigureFacts:
    """The facts that the figure of a model shows."""

    formula: Formula
    subject: SubjectFacts
    value: int | Fraction | None  # None if a size has no value
    shapes: str  # of the inputs and outputs
    is_traced: bool  # True if the data flow is unknown
    ledger: Ledger
    apart: Ledger  # with separate kinds of layers
    root: Line  # the account of the formula over ``apart``
    is_model: bool = True  # False for a component
    layers: tuple[Symbol, ...] = ()  # the size that counts each layer, in order; empty if the order is not known

    @property
    def has_kinds(self) -> bool:
        """Whether a list of layers has several kinds, which are separate in ``apart``."""
        return any(scope.mixture is not None for scope in self.apart.root.walk())


def figure_facts(model: Model, formula: Formula) -> FigureFacts:
    """Return the facts that the figure of a model shows.

    Raises
    ------
    OptionError
        For a ratio.
    DerivationError
        If the separate kinds of layers do not sum to the formula.

    """
    if not formula.additive:
        raise OptionError(
            f"{formula.measure.name} is a {formula.form}, which is not a sum over boxes; draw flops or traffic instead"
        )
    value = value_of(formula, model)
    return figure_of(subject_of(model), model.component, formula, value, model.provenance.layers)


def figure_of(
    subject: SubjectFacts,
    component: Component,
    formula: Formula,
    value: int | Fraction | None,
    layers: tuple[Symbol, ...],
) -> FigureFacts:
    """Return the facts that the figure of a subject shows. Raises DerivationError."""
    question = find_quantity(formula.measure.name).at(formula.source)
    part = component.for_quantity(question, formula.conventions)
    placement = Placement.of(formula.conventions)
    ledger = place(part, placement) if placement != WHOLE else part.ledger
    root = question.account(ledger.apart, formula.conventions)
    difference = expand(root.each.xreplace(formula.relations) - formula.expanded)
    if difference != 0 and cancel(difference) != 0:  # fractions over sums of layers do not cancel by expansion
        raise DerivationError(f"{formula.id}: the separate kinds of layers do not sum to the formula")
    return FigureFacts(
        formula=formula,
        subject=subject,
        value=value,
        shapes=component.shapes,
        is_traced=isinstance(component, RecognizedModel | MeasuredModel),
        is_model=isinstance(component, Architecture | RecognizedModel | MeasuredModel),
        ledger=ledger,
        apart=ledger.apart,
        root=root,
        layers=layers,
    )
