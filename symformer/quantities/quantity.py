"""A quantity: a table with one short rule for each kind of operation, summed over a ledger."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from ..account import Line, Measure, Term
from ..errors import OptionError, RuleError, UnknownNameError
from ..formula import Formula, Source
from ..ledger import ONE, Entry, Kind, Ledger, Scope
from ..placement import CHOICES, WHOLE, Divisible, Placement, conditions, place
from ..sizes import Condition, Divides, Relations
from ..symbols import N_cp, S

Conventions = Mapping[str, str]
R = TypeVar("R")
Rule = Callable[[Entry, Conventions], tuple[Term, ...]]


def nothing(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """The stated rule of a kind that adds nothing: it is in the table because somebody decided so."""
    return ()


@dataclass(frozen=True)
class Convention:
    """A named choice. The first value is the one taken when nothing is said; each value says what it means."""

    meanings: Mapping[str, str]

    @property
    def default(self) -> str:
        return next(iter(self.meanings))


# Which rank's share is counted: understood by every quantity, and printed only where it is not the whole.
PLACEMENT: Mapping[str, Convention] = {name: Convention(meanings) for name, meanings in CHOICES.items()}


class Counted(Divisible, Protocol):
    """A part that knows its ledger."""

    @property
    def ledger(self) -> Ledger: ...


@dataclass(frozen=True)
class Quantity:
    """One question, the rules that answer it, and the conventions it is answered under."""

    measure: Measure
    statement: str  # what is counted, in words, before any number
    rules: Mapping[Kind, Rule]
    columns: tuple[str, str]  # what the table of a derivation calls a term and its factors
    conventions: Mapping[str, Convention] = field(default_factory=dict)
    checked: str = ""  # how it is checked, where torch counts no such thing and there is no certificate

    @property
    def choices(self) -> Mapping[str, Convention]:
        """Its conventions, and those of which rank's share is counted."""
        return {**self.conventions, **PLACEMENT}

    def choose(self, given: Mapping[str, str]) -> dict[str, str]:
        """Every convention with the value chosen for it; of a rank's share, only what is not the whole.

        Raises OptionError or UnknownNameError.
        """
        known = self.choices
        for name, value in given.items():
            if name not in known:
                raise UnknownNameError(f"convention of {self.measure.name}", name, known)
            if value not in known[name].meanings:
                choices = ", ".join(known[name].meanings)
                raise OptionError(f"{name}={value} is not a convention of {self.measure.name}; choose from {choices}")
        chosen = {name: given.get(name, convention.default) for name, convention in known.items()}
        return {
            name: value for name, value in chosen.items() if name in self.conventions or value != known[name].default
        }

    def formula(
        self,
        part: Counted,
        stem: str,
        given: Mapping[str, str],
        relations: Relations,
        constraints: tuple[Condition, ...],
        source: Source | None = None,
    ) -> Formula:
        """The formula of a part, whose id starts with ``stem``. Raises OptionError, UnknownNameError, RuleError."""
        chosen = self.choose(given)
        placement = Placement.of(chosen)
        ledger = part.ledger
        if placement != WHOLE:
            ledger = place(part, placement)
            constraints = (*constraints, *conditions(ledger, placement, constraints))
            if placement.context == "on" and chosen.get("attention") == "causal":
                constraints = (*constraints, Divides(2 * N_cp, S))  # an early and a late piece each: equal work
        return Formula(
            id=f"{stem}.{self.measure.name}",
            measure=self.measure,
            root=self.account(ledger, chosen),
            relations=relations,
            conventions=chosen,
            constraints=(*constraints, *self.conditions(ledger, chosen)),
            source=source,
        )

    def check(self, library: str, given: Mapping[str, str]) -> None:
        """Raise RuleError where the conventions ask for an implementation that a model's library does not have."""

    def conditions(self, ledger: Ledger, conventions: Conventions) -> tuple[Condition, ...]:
        """What has to hold for the formula, beyond what the model asks for."""
        return ()

    def account(self, ledger: Ledger, conventions: Conventions) -> Line:
        """What every entry of a ledger comes to. Raises RuleError for a kind that has no rule."""
        return tally(ledger.root, lambda entry: rule_for(self.rules, entry, self.measure)(entry, conventions))


def rule_for(rules: Mapping[Kind, R], entry: Entry, measure: Measure) -> R:
    """The rule for an entry's kind. Raises RuleError: unknown never counts as nothing."""
    if entry.kind is Kind.STORED and entry.kind not in rules:
        raise RuleError(f"{entry.path}: what a trace stores is known and not what is done with it: no {measure.name}")
    if entry.kind not in rules:
        raise RuleError(f"{entry.path}: {measure.name} has no rule for the operation {entry.kind.value!r}")
    return rules[entry.kind]


def tally(scope: Scope, terms_of: Callable[[Entry], tuple[Term, ...]], path: str = "", key: str = "") -> Line:
    """The account of a scope: its entries with their terms, its parts with their own accounts."""
    lines = []
    for item in scope.items:
        if isinstance(item, Scope):
            name = item.name.removesuffix(".*") or item.part.name
            lines.append(tally(item, terms_of, _join(path, item.name), _join(key, name)))
        else:
            own = _join(key, item.path.rpartition(".")[2])
            lines.append(Line(item.path, own, ONE, entry=item, terms=terms_of(item)))
    return Line(path, key, scope.count, part=scope.part, lines=tuple(lines))


def _join(*names: str) -> str:
    return ".".join(filter(None, names))
