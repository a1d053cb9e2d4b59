"""Rule sets: how a paper or a code base counts FLOPs, as a total table of rules, and which models it covers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...formulas.account import Line, Measure, Term
from ...formulas.formula import Formula
from ...language.errors import OptionError, RegistrationError, RuleError
from ...language.plugins import Plugins
from ...language.sizes import Condition
from ...ledger.facts import ATTENDING, CARRYING, COMPRESSING, MATCHING, ONE, Entry, Ledger, OperationKind
from ..quantity import COUNTED, PLACEMENT, Convention, Conventions, Quantity, require_total, tally
from .linear_roles import RoleTable

Counting = Callable[[Entry, RoleTable], tuple[Term, ...]]
HERE = "here"
_PURPOSES = {
    OperationKind.NORM: "norms",
    OperationKind.LOOKUP: "embeddings",
    OperationKind.PARAMETER: "other parameters",
}


@dataclass(frozen=True)
class RuleSet:
    """A published way of counting, with its source."""

    name: str  # the value of the convention: counted=torchtitan
    who: str  # the name of the paper or code base
    where: str  # the file and the function, or the equation
    link: str
    short: str  # its definition as a phrase, for the meaning of the convention
    statement: str  # its definition in sentences
    rules: Mapping[OperationKind, Counting]
    holds: Callable[[RoleTable], None] = lambda reading: None  # raises RuleError for a model that it does not cover
    needs: Callable[[RoleTable], tuple[Condition, ...]] = lambda reading: ()  # conditions on sizes
    decoders: bool = True  # whether it covers only decoder-only language models
    measure: Measure | None = None  # its measure, if the unit differs from the quantity's
    checked_by: str = "The tests compare it with numbers computed by that code."
    quantity: str = ""  # the quantity that it counts, if another package registers it

    def __post_init__(self) -> None:
        require_total(self.rules, f"counted={self.name}")

    def account(self, ledger: Ledger) -> Line:
        """Return the total of every entry of a ledger. Raises RuleError for a model outside the rule set."""
        reading = RoleTable(ledger)
        if reading.adapted:
            raise self.refuse(f"the rules of {self.who} do not cover adapters; remove them")
        if self.decoders:
            self._decoder(reading)
        self.holds(reading)
        return tally(ledger.root, lambda entry: self._terms(entry, reading))

    def _terms(self, entry: Entry, reading: RoleTable) -> tuple[Term, ...]:
        """Return the terms of an entry, with a purpose for weights that are not multiplied."""
        found = self.rules[entry.kind](entry, reading)
        purpose = _PURPOSES.get(entry.kind)
        return tuple(replace(term, purpose=purpose) for term in found) if purpose else found

    def refuse(self, because: str) -> RuleError:
        """Return the error for a model that this rule set does not cover.

        Parameters
        ----------
        because : str
            The reason.

        """
        return RuleError(f"counted={self.name}: {because}")

    def _decoder(self, reading: RoleTable) -> None:
        """Raise RuleError for models other than decoder-only language models with separate weights per layer."""
        attending = reading.of(*ATTENDING)
        for entry in attending:
            if entry.mask != "causal":
                raise self.refuse(
                    f"{self.who} counts decoders with causal attention, but {entry.path} of {reading.name} attends to "
                    "all tokens or to an encoder"
                )
            if entry.chunked:
                raise self.refuse(f"{self.who} has no rule for chunked attention, as in {entry.path}")
        scores, mixes = reading.of(OperationKind.SCORES), reading.of(OperationKind.MIX)
        if len(scores) != len(mixes):
            others = ", ".join(entry.path for entry in scores)
            raise self.refuse(
                f"{self.who} counts two attention products per head, the scores and the weighted values, but "
                f"{reading.name} has {len(scores)} kinds of scores and {len(mixes)} of weighted values: {others}"
            )
        if unknown := reading.of(*CARRYING, *COMPRESSING, *MATCHING, OperationKind.CONVOLUTION):
            entry = unknown[0]
            raise self.refuse(f"{self.who} has no rule for the {entry.kind.value} {entry.path}")
        if not any(entry.logits for entry in reading.entries) and not reading.of(OperationKind.OBSERVED):
            raise self.refuse(f"{self.who} counts whole language models, but {reading.name} computes no logits")
        if not attending and not reading.of(OperationKind.OBSERVED):
            raise self.refuse(f"{self.who} counts models with attention, but {reading.name} has none")
        for entry in reading.entries:
            if any(weight.share != ONE for weight in entry.weights):
                raise self.refuse(
                    f"{self.who} counts separate weights for every layer, but layers share the weights of {entry.path}"
                )


class RuleSets(Mapping[str, RuleSet]):
    """The rule sets of a quantity by name: the built-in ones, and those that other packages register for it.

    Other packages are searched only for a name that is not built in, and for a list of all names.
    """

    def __init__(self, quantity: str, *own: RuleSet) -> None:
        self.quantity, self.own = quantity, {each.name: each for each in own}
        self.plugins = Plugins("rule_sets", RuleSet)

    def __getitem__(self, name: str) -> RuleSet:
        if name in self.own:
            return self.own[name]
        found: RuleSet | None = self.plugins.load(name)
        if found is None:
            raise KeyError(name)
        if found.name != name:
            raise RegistrationError(f"the rule set {name} has the name {found.name}; name it {name}")
        if found.quantity != self.quantity:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        yield from self.own
        yield from (name for name in self.plugins.names() if name not in self.own and name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        return True


class Meanings(Mapping[str, str]):
    """The values of the convention ``counted`` with their meanings. The default is known without a search."""

    def __init__(self, rule_sets: Mapping[str, RuleSet]) -> None:
        self.rule_sets = rule_sets

    def __getitem__(self, name: str) -> str:
        if name == HERE:
            return "symformer's rules, under the other conventions"
        rules = self.rule_sets[name]
        return f"rules of {rules.who}: {rules.short}"

    def __iter__(self) -> Iterator[str]:
        yield HERE
        yield from self.rule_sets

    def __len__(self) -> int:
        return 1 + len(self.rule_sets)


@dataclass(frozen=True)
class RuleSetQuantity(Quantity):
    """A quantity with published rule sets, each a value of the convention ``counted``."""

    rule_sets: Mapping[str, RuleSet] = field(default_factory=dict)
    of_a_batch: str = ""  # precedes the statement of a rule set that is for one batch

    @property
    def tables(self) -> Any:
        """The quantity's own table and the table of each rule set."""
        own = self.rule_sets.own if isinstance(self.rule_sets, RuleSets) else self.rule_sets
        return (*super().tables, *(each.rules for each in own.values()))

    @property
    def choices(self) -> Mapping[str, Convention]:
        """The conventions of the quantity, of the placement on ranks, and ``counted``."""
        if not self.rule_sets:
            return super().choices
        return {**super().choices, COUNTED: Convention(Meanings(self.rule_sets), hidden_by_default=True)}

    def choose(self, given: Mapping[str, str]) -> dict[str, str]:
        """Return the value of every convention, or only ``counted`` for a rule set, which sets all others.

        Raises OptionError if another convention is given with a rule set.
        """
        chosen = super().choose(given)
        if COUNTED not in chosen:
            return chosen
        name = chosen[COUNTED]
        for other, value in given.items():
            if other in self.conventions:
                raise OptionError(f"counted={name} determines {other}; remove {other}={value}")
            if other in PLACEMENT and value != PLACEMENT[other].default:
                raise OptionError(f"counted={name} counts a whole model, not one rank; remove {other}={value}")
        return {COUNTED: name}

    def check_description(self, formula: Formula) -> str:
        """Return how a formula without a certificate is checked."""
        ruled = self.ruled(formula.conventions)
        if ruled is None:
            return super().check_description(formula)
        return f"Counted by the rules of {ruled.who}, {ruled.where} ({ruled.link}). {ruled.checked_by}"

    def ruled(self, conventions: Conventions) -> RuleSet | None:
        """Return the requested rule set, or None for the quantity's own rules."""
        return self.rule_sets[conventions[COUNTED]] if COUNTED in conventions else None

    def measure_under(self, conventions: Conventions) -> Measure:
        """Return the measure of the requested rule set if it has another unit, else the measure of the quantity."""
        ruled = self.ruled(conventions)
        return ruled.measure if ruled and ruled.measure else self.measure

    def account(self, ledger: Ledger, conventions: Conventions) -> Line:
        """Return the total of every entry, by the requested rules. Raises RuleError."""
        ruled = self.ruled(conventions)
        return ruled.account(ledger) if ruled else super().account(ledger, conventions)

    def conditions(self, ledger: Ledger, conventions: Conventions) -> tuple[Condition, ...]:
        """Return the conditions of the formula, by the requested rules."""
        ruled = self.ruled(conventions)
        return ruled.needs(RoleTable(ledger)) if ruled else super().conditions(ledger, conventions)

    def statement_for(self, formula: Formula) -> str:
        """Return the statement of the quantity or of the requested rule set."""
        ruled = self.ruled(formula.conventions)
        if ruled is None:
            return super().statement_for(formula)
        return " ".join(filter(None, (self.of_a_batch, ruled.statement)))
