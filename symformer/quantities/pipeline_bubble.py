"""The bubble of a pipeline: the time that its stages wait in a training step, over the time that they work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sympy import Expr

from ..formulas.account import Line, Measure, Term
from ..formulas.formula import Formula, Ratio, Source
from ..language.errors import RuleError, WitnessError
from ..language.sizes import Condition, Divides, Relations, close
from ..language.symbols import N_micro, N_pp, N_virt
from ..ledger.facts import ONE, Kind, Ledger
from ..ledger.placement import Placement, conditions, place
from .quantity import PLACEMENT, Convention, Counted, Quantity, nothing, rows

IDLE = Measure("idle", "turns that a stage waits", "I_wait", "micro-batches")
WORK = Measure("work", "turns that they are divided by", "I_time", "micro-batches")
SCHEDULE = Convention(
    {
        "1f1b": "each stage has one forward and one backward pass in turn; Narayanan et al. 2021 [narayanan2021], "
        "section 2.2.1",
        "gpipe": "each stage has all forward passes, then all backward passes, which wait as long; Huang et al. 2019 "
        "[huang2019]",
        "interleaved": "each of N_pp ranks has N_virt stages, and passes of each in turn; Narayanan et al. 2021 "
        "[narayanan2021], section 2.2.2",
    }
)
OVER = Convention(
    {
        "work": "over the time that a stage works; Narayanan et al. 2021 [narayanan2021], section 2.2",
        "step": "over the time of the whole step, waiting included",
    }
)
EVEN = "every stage is given as many layers"


@dataclass(frozen=True)
class Bubble(Quantity):
    """A ratio of turns, which asks of a model only that its layers can be divided into stages alike."""

    def formula(
        self,
        part: Counted,
        stem: str,
        given: Mapping[str, str],
        relations: Relations,
        source: Source | None = None,
    ) -> Ratio:
        """The turns that a stage waits over those of the time. Raises OptionError, UnknownNameError, RuleError."""
        chosen = self.choose(given)
        if ranks := [name for name in chosen if name in PLACEMENT]:
            raise RuleError(f"{self.measure.name} is of all stages together; leave out {ranks[0]}={chosen[ranks[0]]}")
        each, rules = ONE, self._rules(part)
        if chosen["schedule"] == "interleaved":
            each = N_virt
            rules = [Divides(N_pp * N_virt, layers, EVEN) for layers in _layers(rules)]
            rules.append(Divides(N_pp, N_micro, "interleaved stages take as many micro-batches at a time"))
        wait, work = N_pp - 1, N_micro * each
        above = self._line(part, "waiting", wait)
        below = self._line(part, "working", *([work] if chosen["over"] == "work" else [work, wait]))
        name, known = f"{stem}.{self.measure.name}", close({**part.totals, **relations})
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

    def _line(self, part: Counted, what: str, *turns: Expr) -> Line:
        return Line("", "", ONE, part=part, terms=tuple(Term(what, (each,)) for each in turns))

    def _rules(self, part: Counted) -> list[Condition]:
        """That the layers divide. Raises RuleError for a model that stages are not known for."""
        first = Placement(pipeline="first")
        try:
            rules = conditions(place(part, first), first, part.constraints)
        except WitnessError:
            raise RuleError(f"{part.name}: how a model is divided into stages is not read off its code") from None
        return [rule for rule in rules if isinstance(rule, Divides) and N_pp in rule.divisor.free_symbols]

    def account(self, ledger: Ledger, conventions: Mapping[str, str]) -> Line:
        """Raise RuleError: it hangs on no operation."""
        raise RuleError(f"{self.measure.name} counts no operations")


def _layers(rules: list[Condition]) -> list[Expr]:
    """What the stages are given alike."""
    return [rule.dividend for rule in rules if isinstance(rule, Divides)]


QUANTITY = Bubble(
    Measure("pipeline-bubble", "bubble of the pipeline", "Y_bubble", "of the time"),
    "What part of the time the N_pp stages of a pipeline wait, in a training step of N_micro micro-batches: until the "
    "first micro-batch comes to the last stage, and until the last one comes back from there. All stages take as long, "
    "a backward pass as many times a forward pass in each, and what is sent from stage to stage takes no time.",
    rows(nothing, *Kind),
    ("what", "turns"),
    {"schedule": SCHEDULE, "over": OVER},
    "torch counts no such thing. The tests play the schedules, stage by stage and pass by pass, and compare.",
)
