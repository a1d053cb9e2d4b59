"""FLOPs utilization: training FLOPs per second over the peak FLOPs per second of all devices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..formulas.account import Line, Measure, Term
from ..language.errors import RuleError
from ..language.symbols import N_dev, N_peak, N_tps
from ..ledger.facts import Ledger
from .per_token import by_token, holds_tokens
from .quantity import PLACEMENT, Conventions, Countable, Quantity
from .ratio_quantity import RatioQuantity, RunAmount
from .train_flops import TrainFlops

PEAK = RunAmount(
    Measure("peak", "peak FLOPs per second", "F_peak", "FLOPs"),
    lambda conventions: (Term("all devices", (N_dev, N_peak)),),
)


@dataclass(frozen=True)
class Utilization(RatioQuantity, TrainFlops):
    """Training FLOPs per second, over the peak of all devices together."""

    denominator: Quantity | RunAmount = field(default=PEAK, kw_only=True)

    def check(self, part: Countable, given: Mapping[str, str]) -> None:
        """Raise RuleError for a placement on ranks, or for a model with inputs other than tokens."""
        name = self.measure.name
        if ranks := [key for key in PLACEMENT if given.get(key, PLACEMENT[key].default) != PLACEMENT[key].default]:
            raise RuleError(f"{name} describes all devices together, not one rank; remove {ranks[0]}={given[ranks[0]]}")
        holds_tokens(part.title, part.ledger, name)

    def account(self, ledger: Ledger, conventions: Conventions) -> Line:
        """Return the training FLOPs of the tokens of one second, without recomputation unless it is set."""
        return by_token(super().account(ledger, {"recompute": "none", **conventions}), N_tps)
