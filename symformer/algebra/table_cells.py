"""The cells of a table of models: the value of one quantity of one model, or the reason for its absence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from sympy import Expr, Symbol

from ..formulas.formula import Formula
from ..language.errors import UNSUPPORTED, SizeError
from ..language.frozen import Immutable
from ..language.symbols import letter, print_order
from ..models.model import Model
from .token_costs import cost_per_token, value_per_token


@dataclass(frozen=True)
class TableCell(Immutable):
    """One quantity of one model. A cell has a value, or the reason why there is none."""

    formula: Formula | None = None
    amount: Expr | None = None  # the formula, or the formula divided by the number of tokens
    value: int | Fraction | None = None
    at: Mapping[Symbol, int] = field(default_factory=dict)  # the sizes of the run that the amount depends on
    reason: str = ""
    asked: Mapping[str, str] = field(default_factory=dict)  # the conventions that were requested

    @classmethod
    def of(cls, model: Model, quantity: str, conventions: Mapping[str, str], per_token: bool) -> TableCell:
        """Return the cell of a model.

        Parameters
        ----------
        model
            The model, with its sizes.
        quantity, conventions
            The quantity, and its conventions.
        per_token
            Whether a cost is divided by its number of tokens.

        Raises
        ------
        UnknownNameError, OptionError
            For an unknown quantity or convention. A quantity that the model does not support is a reason.

        """
        formula: Formula | None = None
        numbers = model.known
        try:
            formula = model.formula(quantity, **conventions)
            amount = cost_per_token(formula) if per_token else formula.expanded if formula.additive else None
            used = formula.symbols if amount is None else tuple(sorted(amount.free_symbols, key=print_order))
            if missing := [size for size in used if size not in numbers]:
                raise SizeError(f"no value for {', '.join(map(str, missing))}")
            value = value_per_token(formula, numbers) if per_token else formula.value(numbers)
        except (SizeError, *UNSUPPORTED) as error:
            return cls(formula, reason=str(error), asked=conventions)
        return cls(
            formula, amount, value, {size: numbers[size] for size in used if letter(size).run}, asked=conventions
        )
