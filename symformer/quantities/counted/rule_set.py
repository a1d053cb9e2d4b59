"""A rule set: how a paper or a code base counts FLOPs, as a total table of rules, and what it says nothing of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...formulas.account import Line, Measure, Term
from ...formulas.formula import Formula, Source
from ...language.errors import OptionError, RuleError
from ...language.sizes import Condition, Relations
from ...ledger.facts import ATTENDING, ONE, Entry, Kind, Ledger
from ..quantity import COUNTED, PLACEMENT, Convention, Conventions, Counted, Quantity, tally, total
from .roles import Reading

Counting = Callable[[Entry, Reading], tuple[Term, ...]]
HERE = "here"
_PURPOSES = {Kind.NORM: "norms", Kind.LOOKUP: "embeddings", Kind.PARAMETER: "other parameters"}


@dataclass(frozen=True)
class RuleSet:
    """One way of counting that has a name, and the place where it is written down."""

    name: str  # as an option: counted=torchtitan
    who: str  # as people call it
    where: str  # the file and the function, or the equation
    link: str
    short: str  # what it counts, as a convention says it
    statement: str  # the same in sentences
    rules: Mapping[Kind, Counting]
    holds: Callable[[Reading], None] = lambda reading: None  # raises RuleError for a model that it says nothing of
    needs: Callable[[Reading], tuple[Condition, ...]] = lambda reading: ()  # what has to hold between sizes
    decoders: bool = True  # whether it is of decoder-only language models, and of nothing else
    measure: Measure | None = None  # what it counts, where that is another unit than the quantity's
    checked: str = "It is held to numbers that this code gave."

    def __post_init__(self) -> None:
        total(self.rules, f"counted={self.name}")

    def account(self, ledger: Ledger) -> Line:
        """What every entry of a ledger comes to. Raises RuleError for a model that the rule set says nothing of."""
        reading = Reading(ledger)
        if reading.adapted:
            raise self.refuse(f"what {self.who} counts of adapters is not stated; leave them out")
        if self.decoders:
            self._decoder(reading)
        self.holds(reading)
        return tally(ledger.root, lambda entry: self._terms(entry, reading))

    def _terms(self, entry: Entry, reading: Reading) -> tuple[Term, ...]:
        """What an entry comes to, and what of the whole it is where no product is made of its weight."""
        found = self.rules[entry.kind](entry, reading)
        purpose = _PURPOSES.get(entry.kind)
        return tuple(replace(term, purpose=purpose) for term in found) if purpose else found

    def refuse(self, because: str) -> RuleError:
        """The error for what this rule set has no rule for."""
        return RuleError(f"counted={self.name}: {because}")

    def _decoder(self, reading: Reading) -> None:
        """Raise RuleError for whatever is no decoder-only language model with weights of its own in every layer."""
        attending = reading.of(*ATTENDING)
        for entry in attending:
            if entry.mask != "causal":
                raise self.refuse(
                    f"{self.who} counts decoders, whose attention is causal; {entry.path} of {reading.name} attends to "
                    "every token, or to those of an encoder"
                )
            if entry.chunked:
                raise self.refuse(f"{self.who} has no rule for attention within chunks of tokens, as in {entry.path}")
        scores, mixes = reading.of(Kind.SCORES), reading.of(Kind.MIX)
        if len(scores) != len(mixes):
            others = ", ".join(entry.path for entry in scores)
            raise self.refuse(
                f"{self.who} counts two products of tokens with tokens in a head, its scores and what they weigh; "
                f"{reading.name} has scores of {len(scores)} kinds to {len(mixes)}: {others}"
            )
        if unknown := reading.of(Kind.SCAN, Kind.CONVOLUTION, Kind.MATCH, Kind.PRODUCT):
            entry = unknown[0]
            raise self.refuse(f"{entry.path} is a {entry.kind.value}, which {self.who} has no rule for here")
        if not any(entry.logits for entry in reading.entries) and not reading.of(Kind.OBSERVED):
            raise self.refuse(f"{self.who} counts a whole language model, and {reading.name} computes no logits")
        if not attending and not reading.of(Kind.OBSERVED):
            raise self.refuse(f"{self.who} counts models with attention, and {reading.name} has none")
        for entry in reading.entries:
            if any(weight.share != ONE for weight in entry.weights):
                raise self.refuse(
                    f"{self.who} counts layers with weights of their own, and those of {entry.path} are shared"
                )


@dataclass(frozen=True)
class CountedAs(Quantity):
    """A quantity that some papers and code bases count by rules of their own, each a value of ``counted``."""

    rule_sets: Mapping[str, RuleSet] = field(default_factory=dict)
    of_a_batch: str = ""  # what is said before the statement of a rule set, where that is of one batch alone

    @property
    def tables(self) -> Any:
        """Its own table, and that of each rule set."""
        return (*super().tables, *(each.rules for each in self.rule_sets.values()))

    @property
    def choices(self) -> Mapping[str, Convention]:
        """Its conventions, those of which rank's share is counted, and whose rules."""
        if not self.rule_sets:
            return super().choices
        ways = {HERE: "by the rules of this formula's own conventions"}
        ways |= {name: f"as {each.who} counts: {each.short}" for name, each in self.rule_sets.items()}
        return {**super().choices, COUNTED: Convention(ways, quiet=True)}

    def choose(self, given: Mapping[str, str]) -> dict[str, str]:
        """Every convention with its value; of a rule set, which decides all others, its name. Raises OptionError."""
        chosen = super().choose(given)
        if COUNTED not in chosen:
            return chosen
        name = chosen[COUNTED]
        for other, value in given.items():
            if other in self.conventions:
                raise OptionError(f"counted={name} decides {other} by itself; leave out {other}={value}")
            if other in PLACEMENT and value != PLACEMENT[other].default:
                raise OptionError(
                    f"counted={name} counts a whole model, and not what one rank of many has; leave out {other}={value}"
                )
        return {COUNTED: name}

    def checking(self, formula: Formula) -> str:
        """How a formula is checked where there is no certificate of it."""
        ruled = self.ruled(formula.conventions)
        if ruled is None:
            return super().checking(formula)
        return f"Counted as {ruled.who} counts, {ruled.where} ({ruled.link}). {ruled.checked}"

    def ruled(self, conventions: Conventions) -> RuleSet | None:
        """The rule set that was asked for; None for the quantity's own rules."""
        return self.rule_sets[conventions[COUNTED]] if COUNTED in conventions else None

    def formula(
        self,
        part: Counted,
        stem: str,
        given: Mapping[str, str],
        relations: Relations,
        source: Source | None = None,
    ) -> Formula:
        """The formula of a part, in the unit of the rules that were asked for.

        Raises OptionError, UnknownNameError, RuleError.
        """
        found = super().formula(part, stem, given, relations, source)
        ruled = self.ruled(found.conventions)
        return replace(found, measure=ruled.measure) if ruled and ruled.measure else found

    def account(self, ledger: Ledger, conventions: Conventions) -> Line:
        """What every entry comes to, by the rules that were asked for. Raises RuleError."""
        ruled = self.ruled(conventions)
        return ruled.account(ledger) if ruled else super().account(ledger, conventions)

    def conditions(self, ledger: Ledger, conventions: Conventions) -> tuple[Condition, ...]:
        """What has to hold for the formula, by the rules that were asked for."""
        ruled = self.ruled(conventions)
        return ruled.needs(Reading(ledger)) if ruled else super().conditions(ledger, conventions)

    def states(self, formula: Formula) -> str:
        """What is counted by a formula, in words."""
        ruled = self.ruled(formula.conventions)
        if ruled is None:
            return super().states(formula)
        return " ".join(filter(None, (self.of_a_batch, ruled.statement)))
