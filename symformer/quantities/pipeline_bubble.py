"""Pipeline bubble: the idle time of the pipeline stages in a training step, relative to their working time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sympy import Expr

from ..formulas.account import Line, Measure, Term
from ..formulas.formula import Formula, SizeSource
from ..language.errors import RuleError, WitnessError
from ..language.sizes import Condition, Divides, Relations
from ..language.symbols import N_micro, N_pp, N_virt
from ..ledger.facts import ONE, Ledger, OperationKind
from ..ledger.placement import Placement, conditions, place
from .quantity import PLACEMENT, Convention, Conventions, Countable, counts_nothing, rows
from .ratio_quantity import RatioQuantity, RunAmount

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


def _slots(conventions: Conventions) -> tuple[Term, ...]:
    """Return the slots of the denominator: the busy slots and, for the whole step, also the idle slots."""
    work = N_micro * (N_virt if conventions["schedule"] == "interleaved" else ONE)
    turns = [work] if conventions["over"] == "work" else [work, N_pp - 1]
    return tuple(Term("working", (each,)) for each in turns)


IDLE = RunAmount(
    Measure("idle", "idle slots per stage", "I_wait", "micro-batches"),
    lambda conventions: (Term("waiting", (N_pp - 1,)),),
)
WORK = RunAmount(Measure("work", "slots in the denominator", "I_time", "micro-batches"), _slots)


@dataclass(frozen=True)
class Bubble(RatioQuantity):
    """A ratio of time slots. It only requires that the layers divide evenly into stages."""

    def numerator_of(
        self, part: Countable, stem: str, given: Mapping[str, str], relations: Relations, source: SizeSource | None
    ) -> Formula:
        """Return the idle slots, which no operation determines. Raises OptionError, UnknownNameError, RuleError."""
        chosen = self.choose(given)
        if ranks := [name for name in chosen if name in PLACEMENT]:
            raise RuleError(
                f"{self.measure.name} describes all stages together, not one rank; remove {ranks[0]}={chosen[ranks[0]]}"
            )
        rules = self._rules(part)
        if chosen["schedule"] == "interleaved":
            rules = [Divides(N_pp * N_virt, layers, EVEN) for layers in _layers(rules)]
            rules.append(Divides(N_pp, N_micro, "the interleaved schedule runs micro-batches in groups of N_pp"))
        return replace(
            IDLE.formula(part, stem, chosen, relations, source),
            id=f"{stem}.{self.measure.name}",
            measure=self.measure,
            totals=frozenset(part.totals),
            constraints=tuple(rules),
        )

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
    numerator=IDLE.measure,
    denominator=WORK,
)
