"""Pipeline bubble: the idle time of the pipeline stages in a training step, relative to their working time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sympy import Expr

from ..formulas.account import Line, Measure, Term
from ..formulas.formula import Formula, Ratio, SizeSource
from ..language.errors import RuleError, WitnessError
from ..language.sizes import Condition, Divides, Relations, close_relations
from ..language.symbols import N_micro, N_pp, N_virt
from ..ledger.facts import ONE, Ledger, OperationKind
from ..ledger.placement import Placement, conditions, place
from .quantity import PLACEMENT, Convention, Countable, Quantity, counts_nothing, rows

IDLE = Measure("idle", "idle slots per stage", "I_wait", "micro-batches")
WORK = Measure("work", "slots in the denominator", "I_time", "micro-batches")
SCHEDULE = Convention(
    {
        "1f1b": "each stage alternates one forward and one backward pass; Narayanan et al. 2021 [narayanan2021], "
        "section 2.2.1",
        "gpipe": "each stage runs all forward passes, then all backward passes, with the same idle time as 1f1b; Huang "
        "et al. 2019 [huang2019]",
        "interleaved": "each of N_pp ranks has N_virt stages and alternates between them; Narayanan et al. 2021 "
        "[narayanan2021], section 2.2.2",
    }
)
OVER = Convention(
    {
        "work": "relative to the working time of a stage; Narayanan et al. 2021 [narayanan2021], section 2.2",
        "step": "relative to the time of the whole step, including idle time",
    }
)
EVEN = "all stages need the same number of layers"


@dataclass(frozen=True)
class Bubble(Quantity):
    """A ratio of time slots. It only requires that the layers divide evenly into stages."""

    def formula(
        self,
        part: Countable,
        stem: str,
        given: Mapping[str, str],
        relations: Relations,
        source: SizeSource | None = None,
    ) -> Ratio:
        """Return the idle slots over the slots of the denominator. Raises OptionError, UnknownNameError, RuleError."""
        chosen = self.choose(given)
        if ranks := [name for name in chosen if name in PLACEMENT]:
            raise RuleError(
                f"{self.measure.name} describes all stages together, not one rank; remove {ranks[0]}={chosen[ranks[0]]}"
            )
        each, rules = ONE, self._rules(part)
        if chosen["schedule"] == "interleaved":
            each = N_virt
            rules = [Divides(N_pp * N_virt, layers, EVEN) for layers in _layers(rules)]
            rules.append(Divides(N_pp, N_micro, "the interleaved schedule runs micro-batches in groups of N_pp"))
        wait, work = N_pp - 1, N_micro * each
        above = self._line(part, "waiting", wait)
        below = self._line(part, "working", *([work] if chosen["over"] == "work" else [work, wait]))
        name, known = f"{stem}.{self.measure.name}", close_relations({**part.totals, **relations})
        over = Formula(f"{name}.{WORK.name}", WORK, below, relations=known, conventions=chosen, source=source)
        return Ratio(
            name,
            self.measure,
            above,
            relations=known,
            totals=frozenset(part.totals),
            conventions=chosen,
            constraints=tuple(rules),
            source=source,
            counts=IDLE,
            over=over,
        )

    def _line(self, part: Countable, what: str, *turns: Expr) -> Line:
        return Line("", "", ONE, part=part, terms=tuple(Term(what, (each,)) for each in turns))

    def _rules(self, part: Countable) -> list[Condition]:
        """Return the divisibility of the layers. Raises RuleError for a model that cannot be divided into stages."""
        first = Placement(pipeline="first")
        try:
            rules = conditions(place(part, first), first, part.constraints)
        except WitnessError:
            raise RuleError(f"{part.name}: a traced model cannot be divided into pipeline stages") from None
        return [rule for rule in rules if isinstance(rule, Divides) and N_pp in rule.divisor.free_symbols]

    def account(self, ledger: Ledger, conventions: Mapping[str, str]) -> Line:
        """Raise RuleError: the bubble does not depend on any operation."""
        raise RuleError(f"{self.measure.name} counts no operations")


def _layers(rules: list[Condition]) -> list[Expr]:
    """Return the layer counts that the stages divide."""
    return [rule.dividend for rule in rules if isinstance(rule, Divides)]


QUANTITY = Bubble(
    Measure("pipeline-bubble", "pipeline bubble", "Y_bubble", "of the time"),
    "The idle time of the N_pp pipeline stages in a training step of N_micro micro-batches, as a fraction of their "
    "working time or of the whole step. The idle time is the time until the first micro-batch reaches the last stage, "
    "plus the time until the last one returns from it. Assumes that all stages take the same time, that the ratio of "
    "backward to forward time is the same in every stage, and that communication takes no time.",
    rows(counts_nothing, *OperationKind),
    ("state", "slots"),
    {"schedule": SCHEDULE, "over": OVER},
    "torch has no counter for this. The tests simulate the schedules, stage by stage and pass by pass, and compare.",
)
