"""FLOPs utilization: training FLOPs per second over the peak FLOPs per second of all devices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from ..formulas.account import Line, Measure, Term
from ..formulas.formula import Formula, Ratio, SizeSource
from ..language.errors import RuleError
from ..language.sizes import Relations
from ..language.symbols import N_dev, N_peak, N_tps
from ..ledger.facts import ONE, Ledger
from .per_token import by_token, holds_tokens
from .quantity import PLACEMENT, Conventions, Countable
from .train_flops import TrainFlops

USED = Measure("used", "FLOPs per second", "F_used", "FLOPs")
PEAK = Measure("peak", "peak FLOPs per second", "F_peak", "FLOPs")


@dataclass(frozen=True)
class Utilization(TrainFlops):
    """Training FLOPs per second, over the peak of all devices together."""

    counts: Measure = USED

    def formula(
        self,
        part: Countable,
        stem: str,
        given: Mapping[str, str],
        relations: Relations,
        source: SizeSource | None = None,
    ) -> Ratio:
        """Return FLOPs per second over the peak. Raises OptionError, UnknownNameError, RuleError."""
        above = super().formula(part, stem, given, relations, source)
        peak = Line("", "", ONE, part=above.root.part, terms=(Term("all devices", (N_dev, N_peak)),))
        below = Formula(f"{above.id}.{PEAK.name}", PEAK, peak, relations=above.relations, source=source)
        return Ratio(**{item.name: getattr(above, item.name) for item in fields(above)}, counts=self.counts, over=below)

    def check(self, part: Countable, given: Mapping[str, str]) -> None:
        """Raise RuleError for a placement on ranks, or for a model with inputs other than tokens."""
        name = self.measure.name
        if ranks := [key for key in PLACEMENT if given.get(key, PLACEMENT[key].default) != PLACEMENT[key].default]:
            raise RuleError(f"{name} describes all devices together, not one rank; remove {ranks[0]}={given[ranks[0]]}")
        holds_tokens(part.title, part.ledger, name)

    def account(self, ledger: Ledger, conventions: Conventions) -> Line:
        """Return the training FLOPs of the tokens of one second, without recomputation unless it is set."""
        return by_token(super().account(ledger, {"recompute": "none", **conventions}), N_tps)
