"""What the figure of a model shows: its formula, and the account of each kind of layer."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from sympy import expand

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
    """What the figure of a model shows. The account is computed when the figure is drawn."""

    formula: Formula
    subject: SubjectFacts
    component: Component
    value: int | Fraction | None  # None if a size has no value

    @property
    def is_traced(self) -> bool:
        """Return True if the model is traced, so that its data flow is unknown."""
        return isinstance(self.component, RecognizedModel | MeasuredModel)

    @property
    def shapes(self) -> str:
        """Return the shapes of the model's inputs and outputs."""
        return self.component.shapes

    @cached_property
    def account(self) -> tuple[Ledger, Ledger, Line]:
        """Return the ledger, the ledger with separate kinds of layers, and the account of the formula over the latter.

        Raises DerivationError if the account does not sum to the formula.
        """
        formula = self.formula
        question = find_quantity(formula.measure.name)
        part = self.component.for_quantity(question, formula.conventions)
        placement = Placement.of(formula.conventions)
        together = place(part, placement) if placement != WHOLE else part.ledger
        ledger = together.apart
        root = question.account(ledger, formula.conventions)
        if expand(root.each.xreplace(formula.relations) - formula.expanded) != 0:
            raise DerivationError(f"{formula.id}: the separate kinds of layers do not sum to the formula")
        return together, ledger, root


def figure_facts(model: Model, formula: Formula) -> FigureFacts:
    """Return what the figure of a model shows. Raises OptionError for a ratio."""
    if not formula.additive:
        raise OptionError(
            f"{formula.measure.name} is a ratio, which is not a sum over boxes; draw flops or traffic instead"
        )
    return FigureFacts(formula, subject_of(model), model.component, value_of(formula, model))
