"""What configs are compared by: their loss in a budget, their FLOPs for a loss, or the distance to an optimum."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

from ..language.frozen import Immutable
from .allocation_law import AllocationLaw
from .scaling_law import INFERENCE, TRAINING, ParametricLaw, ScalingLaw


@dataclass(frozen=True)
class ConfigGoal(Immutable, ABC):
    """A goal: the lowest score is the best.

    Attributes
    ----------
    law : ScalingLaw
        The scaling law.
    inference : int
        The inference tokens.
    memory : int | None
        The bytes that a config may take.

    """

    law: ScalingLaw
    inference: int
    memory: int | None

    @property
    def budget(self) -> int | None:
        """The FLOPs of training and inference, or None if they are minimized."""
        return None

    @abstractmethod
    def tokens(self, counted: float, training: float, inference: float) -> float | None:
        """Return the training tokens of a config from its FLOPs per token, or None if it does not qualify."""

    @abstractmethod
    def score(self, counted: float, training: float, inference: float) -> float | None:
        """Return the score of a config, or None if it does not qualify."""

    @abstractmethod
    def bound(self, counted: float, training: float, inference: float) -> float:
        """Return a lower bound of the scores of all configs with at least this N and these FLOPs per token."""

    @abstractmethod
    def fitted_loss(self, counted: float, tokens: float) -> float | None:
        """Return the loss of the law, or None if the law states none."""

    @property
    @abstractmethod
    def impossible(self) -> str:
        """What no config does, for an error, and what to do."""

    def approximate_costs(self, counted: int) -> tuple[int, int]:
        """Return the FLOPs per token of training and inference that the law approximates."""
        return TRAINING * counted, INFERENCE * counted


@dataclass(frozen=True)
class LossInBudget(ConfigGoal):
    """The lowest loss of a parametric law within a budget."""

    law: ParametricLaw
    flops: int

    @property
    def budget(self) -> int:
        """The FLOPs of training and inference."""
        return self.flops

    def tokens(self, counted: float, training: float, inference: float) -> float | None:
        """Return the tokens that the FLOPs left by inference pay for."""
        left = (self.flops - inference * self.inference) / training
        return left if left >= 1 else None

    def score(self, counted: float, training: float, inference: float) -> float | None:
        """Return the loss."""
        tokens = self.tokens(counted, training, inference)
        return None if tokens is None else self.law.loss(counted, tokens)

    def bound(self, counted: float, training: float, inference: float) -> float:
        """Return the loss of a model without a limit of its parameters, on the tokens of the cheapest config."""
        tokens = self.tokens(counted, training, inference)
        if tokens is None:
            return math.inf
        return self.law.floor + self.law.capacity_term(math.inf) + self.law.data_term(tokens)

    def fitted_loss(self, counted: float, tokens: float) -> float:
        """Return the loss."""
        return self.law.loss(counted, tokens)

    @property
    def impossible(self) -> str:
        """What no config does."""
        return f"trains on a token within {self.flops:.4g} FLOPs; choose a larger budget"


@dataclass(frozen=True)
class FlopsForLoss(ConfigGoal):
    """The fewest FLOPs that reach a loss of a parametric law."""

    law: ParametricLaw
    loss: float

    def tokens(self, counted: float, training: float, inference: float) -> float | None:
        """Return the tokens after which a config reaches the loss."""
        found = self.law.tokens_for(counted, self.loss)
        return None if found is None or math.isinf(found) else found

    def score(self, counted: float, training: float, inference: float) -> float | None:
        """Return the FLOPs."""
        tokens = self.tokens(counted, training, inference)
        return None if tokens is None else training * tokens + inference * self.inference

    def bound(self, counted: float, training: float, inference: float) -> float:
        """Return the FLOPs with the tokens of a model without a limit of its parameters."""
        tokens = self.law.tokens_for(math.inf, self.loss)
        return math.inf if tokens is None else training * tokens + inference * self.inference

    def fitted_loss(self, counted: float, tokens: float) -> float:
        """Return the loss."""
        return self.law.loss(counted, tokens)

    @property
    def impossible(self) -> str:
        """What no config does."""
        return f"reaches a loss of {self.loss:g}; choose a larger loss"


@dataclass(frozen=True)
class NearestSize(ConfigGoal):
    """The N that is closest, by its logarithm, to the optimal N of a law that states no loss of other models."""

    law: AllocationLaw
    flops: int

    @property
    def budget(self) -> int:
        """The FLOPs of training."""
        return self.flops

    def tokens(self, counted: float, training: float, inference: float) -> float | None:
        """Return the tokens that the budget pays for."""
        left = self.flops / training
        return left if left >= 1 else None

    def score(self, counted: float, training: float, inference: float) -> float | None:
        """Return the difference of the logarithms of N."""
        if self.tokens(counted, training, inference) is None:
            return None
        return abs(math.log(counted / self.law.optimal_parameters(self.flops)))

    def bound(self, counted: float, training: float, inference: float) -> float:
        """Return the score of the smallest N, if it is larger than the optimal one."""
        return max(0.0, math.log(counted / self.law.optimal_parameters(self.flops)))

    def fitted_loss(self, counted: float, tokens: float) -> None:
        """Return None: the law states no loss of these models."""

    @property
    def impossible(self) -> str:
        """What no config does."""
        return f"trains on a token within {self.flops:.4g} FLOPs; choose a larger budget"

    def approximate_costs(self, counted: int) -> tuple[int, int]:
        """Return the FLOPs per token that the law approximates, which N itself may be."""
        if self.law.parameters == "flops-per-token":
            return counted, counted // 3
        return super().approximate_costs(counted)
