"""The law of repeated data: tokens that are repeated, and parameters beyond the optimum, lose value."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..language.errors import OptionError
from .scaling_law import ParametricLaw


@dataclass(frozen=True, repr=False)
class RepeatedDataLaw(ParametricLaw):
    """A parametric law in which tokens and parameters count less the more they exceed the unique data.

    With U unique tokens, ``N_tok' = U + U*R_D*(1 - exp(-R/R_D))`` with ``R = N_tok/U - 1`` takes the place of N_tok.
    N is replaced likewise, with the parameters that are optimal for U tokens.
    """

    form = "repeated"
    formula = "E + A/N_eff^alpha + B/N_tok,eff^beta"

    def with_unique_tokens(self, unique: float) -> LimitedDataLaw:
        """Return the law for a number of unique tokens."""
        if not unique > 0:
            raise OptionError("the number of unique tokens must be positive")
        return LimitedDataLaw(
            *(self.name, self.title, self.paper, self.where, self.parameters, self.flops, self.constants),
            *(self.uncertainty, self.interval, self.fitted_range, self.notes),
            unique=unique,
        )


@dataclass(frozen=True, repr=False)
class LimitedDataLaw(RepeatedDataLaw):
    """The law of repeated data for a number of unique tokens."""

    unique: float = math.inf

    @property
    def base_parameters(self) -> float:
        """The parameters for which the unique tokens are optimal: ``G*(G*U)^(beta/alpha)``."""
        own = self.constants
        scale = (own["alpha"] * own["A"] / (own["beta"] * own["B"])) ** (1 / (own["alpha"] + own["beta"]))
        return float(scale * (scale * self.unique) ** (own["beta"] / own["alpha"]))

    def effective_tokens(self, tokens: float) -> float:
        """Return the number of unique tokens that are worth as much as these tokens."""
        return discounted(tokens, self.unique, self.constants["R_D"])

    def effective_parameters(self, parameters: float) -> float:
        """Return the number of parameters after the discount of those beyond the optimum of the unique tokens."""
        return discounted(parameters, self.base_parameters, self.constants["R_N"])

    def capacity_term(self, parameters: float) -> float:
        """Return the part of the loss that depends on the parameters."""
        return super().capacity_term(self.effective_parameters(parameters))

    def data_term(self, tokens: float) -> float:
        """Return the part of the loss that depends on the tokens."""
        return super().data_term(self.effective_tokens(tokens))

    def capacity_slope(self, parameters: float) -> float:
        """Return the decrease of the loss per unit of ln N."""
        worth = parameters / self.effective_parameters(parameters)
        marginal = _marginal(parameters, self.base_parameters, self.constants["R_N"])
        return super().capacity_slope(parameters) * worth * marginal

    def data_slope(self, tokens: float) -> float:
        """Return the decrease of the loss per unit of ln N_tok."""
        worth = tokens / self.effective_tokens(tokens)
        return super().data_slope(tokens) * worth * _marginal(tokens, self.unique, self.constants["R_D"])

    @property
    def lowest(self) -> float:
        """The infimum of the loss over all models and tokens."""
        own = self.constants
        parameters, tokens = self.base_parameters * (1 + own["R_N"]), self.unique * (1 + own["R_D"])
        return self.floor + ParametricLaw.capacity_term(self, parameters) + ParametricLaw.data_term(self, tokens)

    def tokens_for(self, parameters: float, loss: float) -> float | None:
        """Return the tokens after which a model reaches a loss, or None if it never does."""
        left = loss - self.floor - self.capacity_term(parameters)
        if left <= 0:
            return None
        needed = (self.constants["B"] / left) ** (1 / self.constants["beta"])
        most = self.constants["R_D"]
        if needed <= self.unique:
            return float(needed)
        share = (needed / self.unique - 1) / most  # 1 - exp(-R/R_D)
        return self.unique * (1 - most * math.log1p(-share)) if share < 1 else None


def discounted(amount: float, base: float, decay: float) -> float:
    """Return an amount whose excess over a base loses value exponentially.

    >>> discounted(5, 8, 15.0), round(discounted(5, 1, 3.0), 2)
    (5, 3.21)
    """
    if amount <= base:
        return amount
    return base - base * decay * math.expm1((1 - amount / base) / decay)


def _marginal(amount: float, base: float, decay: float) -> float:
    """Return the value of one more unit of an amount whose excess over a base is discounted."""
    return 1.0 if amount <= base else math.exp((1 - amount / base) / decay)
