"""Laws of the optimal split of a budget into parameters and tokens, which do not give the loss of other models."""

from __future__ import annotations

from dataclasses import dataclass

from .scaling_law import TRAINING, ScalingLaw


@dataclass(frozen=True, repr=False)
class AllocationLaw(ScalingLaw):
    """The optimal parameters and tokens as powers of the budget: ``k_N*F^a`` and ``k_D*F^b``.

    If a law states only one of them, the other follows from ``F = 6*N*N_tok``.
    """

    form = "allocation"
    formula = "N = k_N*F^a, N_tok = k_D*F^b"

    budget_unit: float = 1.0  # FLOPs per unit of the budget
    unit_name: str = "FLOPs"

    def optimal_parameters(self, budget: float) -> float:
        """Return the optimal N for a budget in FLOPs."""
        own, units = self.constants, budget / self.budget_unit
        if "k_N" in own:
            return float(own["k_N"] * units ** own["a"])
        return budget / TRAINING / self.optimal_tokens(budget)

    def optimal_tokens(self, budget: float) -> float:
        """Return the optimal tokens for a budget in FLOPs."""
        own, units = self.constants, budget / self.budget_unit
        if "k_D" in own:
            return float(own["k_D"] * units ** own["b"])
        return budget / TRAINING / self.optimal_parameters(budget)

    def optimal_loss(self, budget: float) -> float | None:
        """Return the loss at the optimum, or None if the paper states no such law."""
        own = self.constants
        return float(own["k_L"] * (budget / self.budget_unit) ** -own["c"]) if "k_L" in own else None
