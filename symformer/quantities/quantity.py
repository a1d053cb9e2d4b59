"""A quantity: a total table, one short rule for each kind of operation, summed over a ledger.

Every kind has a row in every table: it adds something, adds nothing because somebody decided so, or is refused with
the reason. A table that leaves a kind out cannot be made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, TypeVar, cast

from sympy import Expr, Symbol

from ..formulas.account import Line, Measure, Term
from ..formulas.formula import Formula, Source
from ..language.errors import OptionError, RuleError, UnknownNameError
from ..language.sizes import Condition, Divides, Relations, close
from ..language.symbols import B_vis, C, N_cp, S, Z
from ..ledger.adapters import is_adapted
from ..ledger.facts import ATTENDING, ONE, Entry, Kind, Ledger, Scope, Weight
from ..ledger.placement import CHOICES, WHOLE, Divisible, Placement, conditions, place, ranks
from .lengths import within

COUNTED = "counted"  # by whose rules, where a quantity knows others' too
SEQUENCES, IMAGES = "B sequences of S tokens", "B images"
TEXTS_AND_IMAGES = f"{SEQUENCES} and B_vis images"
BOTH = "The S tokens are the decoder's; the encoder runs as well."  # where a decoder attends to an encoder
Conventions = Mapping[str, str]
R = TypeVar("R")
Rule = Callable[[Entry, Conventions], tuple[Term, ...]]


def nothing(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """The stated rule of a kind that adds nothing: it is in the table because somebody decided so."""
    return ()


def stored(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """The shape of each weight this entry stores, multiplied out."""
    return tuple(Term(weight.path, weight.shape) for weight in entry.weights)


def shared(weight: Weight) -> tuple[Expr, ...]:
    """The factor of a weight that fewer layers store than run; none where each has its own."""
    return (weight.share,) if weight.share != 1 else ()


def refused(because: str) -> Callable[[Entry, Conventions], Any]:
    """The stated rule of a kind that a quantity cannot be answered with: a RuleError that gives the reason."""

    def rule(entry: Entry, conventions: Conventions) -> Any:
        raise RuleError(f"{entry.path}: {because}")

    return rule


def measured(quantity: str, terms: Rule) -> Rule:
    """The rule of what a run of torch was seen to do, which answers the quantity that the run was made for."""

    def rule(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
        if entry.measured != quantity:
            unseen(entry, conventions)
        return terms(entry, conventions)

    return rule


def unseen(entry: Entry, conventions: Conventions) -> Any:
    """The rule of what a trace saw, for every quantity that it did not see it for. Raises RuleError."""
    raise RuleError(f"{entry.path}: a trace saw this for {entry.measured}, and knows nothing else of what it is for")


def rows(rule: R, *kinds: Kind) -> dict[Kind, R]:
    """Rows of a table that share a rule."""
    return dict.fromkeys(kinds, rule)


def refusing(because: str, table: Mapping[Kind, R]) -> dict[Kind, R]:
    """A table in which every kind that it has no row for is refused for one reason, a kind of tomorrow too."""
    return {**rows(cast(R, refused(because)), *Kind), **table}


def total(table: Mapping[Kind, R], what: str) -> Mapping[Kind, R]:
    """The table itself, which has a row for every kind of operation. Raises RuleError where one is left out."""
    if missing := [kind.value for kind in Kind if kind not in table]:
        raise RuleError(f"the table of {what} has no row for {', '.join(missing)}; state a rule, nothing or refused")
    return table


@dataclass(frozen=True)
class Convention:
    """A named choice. The first value is the one taken when nothing is said; each value says what it means.

    Of a model without an operation that it ``concerns`` nothing is said of it, unless another value than the first was
    asked for. Of a ``quiet`` one nothing is said until then, whatever the model.
    """

    meanings: Mapping[str, str]
    concerns: Callable[[Entry], bool] = lambda entry: True
    quiet: bool = False

    @property
    def default(self) -> str:
        return next(iter(self.meanings))


# Which rank's share is counted: understood by every quantity, and printed only where it is not the whole.
PLACEMENT: Mapping[str, Convention] = {name: Convention(meanings, quiet=True) for name, meanings in CHOICES.items()}


class Counted(Divisible, Protocol):
    """A part that knows its ledger, when its formulas hold, and the library that has it as a torch class."""

    @property
    def ledger(self) -> Ledger: ...

    @property
    def constraints(self) -> tuple[Condition, ...]: ...

    @property
    def totals(self) -> Relations: ...

    @property
    def library(self) -> str: ...

    @property
    def unread(self) -> str: ...

    def answering(self, question: Quantity, given: Mapping[str, str]) -> Self: ...


@dataclass(frozen=True)
class Quantity:
    """One question, the rules that answer it, and the conventions it is answered under."""

    measure: Measure
    statement: str  # what is counted, in words, before any number
    rules: Mapping[Kind, Rule]
    columns: tuple[str, str]  # what the table of a derivation calls a term and its factors
    conventions: Mapping[str, Convention] = field(default_factory=dict)
    checked: str = ""  # how it is checked, where torch counts no such thing and there is no certificate
    by_format: str = ""  # why the storage format of weights affects the answer; "" if it does not
    follows: str = ""  # the quantity that it is reckoned from: what torch was seen to count of that answers this
    weighs: bool = False  # whether it counts what is stored, and not what runs: layers may share their weights
    after: int = 1  # how many tokens run after those in a cache
    of: tuple[Symbol, ...] = ()  # sizes of a run that define it, although a model may not depend on them
    frozen: str = ""  # what there is to add to the statement where a weight is stored that is never trained
    encoder: str = ""  # what there is to add to the statement where a decoder attends to an encoder
    logits: str = ""  # what there is to add to the statement where logits are computed
    latent: str = ""  # what there is to add to the statement where keys and values are made from latents
    carried: str = ""  # the statement where nothing attends, and states are carried from token to token
    notes: Mapping[Callable[[Entry], bool], str] = field(
        default_factory=dict
    )  # a sentence for models with a matching entry

    def __post_init__(self) -> None:
        for table in self.tables:
            total(table, self.measure.name)

    @property
    def tables(self) -> Iterable[Mapping[Kind, Any]]:
        """Every table that it is answered by, each of them total."""
        return (self.rules,)

    @property
    def asked(self) -> str:
        """The quantity that a model read off its code is asked for."""
        return self.follows or self.measure.name

    @property
    def seen(self) -> str:
        """The quantity whose rows, seen and not recognised, answer it."""
        return self.measure.name if self.rules.get(Kind.OBSERVED) is unseen else self.asked

    @property
    def choices(self) -> Mapping[str, Convention]:
        """Its conventions, and those of which rank's share is counted."""
        return {**self.conventions, **PLACEMENT}

    def choose(self, given: Mapping[str, str]) -> dict[str, str]:
        """Every convention with the value chosen for it; of a rank's share and of quiet ones, only what is not usual.

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
        return {name: value for name, value in chosen.items() if not known[name].quiet or value != known[name].default}

    def formula(
        self,
        part: Counted,
        stem: str,
        given: Mapping[str, str],
        relations: Relations,
        source: Source | None = None,
    ) -> Formula:
        """The formula of a part, whose id starts with ``stem``: the one way to any answer.

        Raises OptionError, UnknownNameError, RuleError.
        """
        part = part.answering(self, given)
        constraints = part.constraints
        self.check(part, given)
        chosen = self.choose(given)
        placement = Placement.of(chosen)
        ledger = part.ledger
        if placement != WHOLE:
            if is_adapted(ledger):
                options = ", ".join(f"{name}={chosen[name]}" for name in PLACEMENT if name in chosen)
                raise RuleError(f"what one of several ranks has of adapters is not stated; leave out {options}")
            ledger = place(part, placement)
            constraints = (*constraints, *conditions(ledger, placement, constraints))
            if placement.context == "on" and chosen.get("attention") == "causal":
                constraints = (*constraints, Divides(2 * N_cp, S))  # an early and a late piece each: equal work
        root = self.account(ledger, chosen)
        if placement.context == "on" and root.each.has(C):
            constraints = (*constraints, Divides(N_cp, C))
        reach = within(ledger, root.each.free_symbols, self.after)
        return Formula(
            id=f"{stem}.{self.measure.name}",
            measure=self.measure,
            root=root,
            relations=close({**part.totals, **relations}),
            totals=frozenset(part.totals),
            conventions=chosen,
            constraints=(*constraints, *self.conditions(ledger, chosen), *reach),
            source=source,
            named=frozenset(self.defining(chosen)),
            ranks=ranks(placement, chosen.get("data", "off") != "off"),
        )

    def said(self, formula: Formula) -> dict[str, str]:
        """The conventions that a formula is counted under, without the usual ones that concern nothing in it."""
        entries = [line.entry for _, line in formula.root.leaves() if line.entry]
        return {
            name: value
            for name, value in formula.conventions.items()
            if not entries
            or value != self.choices[name].default
            or any(self.choices[name].concerns(each) or each.kind is Kind.OBSERVED for each in entries)
        }

    def states(self, formula: Formula) -> str:
        """What is counted by a formula, in words."""
        entries = [line.entry for _, line in formula.root.leaves() if line.entry]
        drawn = {size for each in entries for dim in each.output.shape for size in dim.free_symbols}
        read = SEQUENCES
        if B_vis in drawn:
            read = TEXTS_AND_IMAGES
        elif Z in drawn and S not in drawn:  # of which the tokens follow
            read = IMAGES
        kinds = {each.kind for each in entries}
        alone = self.carried and Kind.SCAN in kinds and kinds.isdisjoint(ATTENDING)
        said = [self.carried] if alone else [self.statement.replace(SEQUENCES, read)]
        if any(each.logits for each in entries):
            said.append(self.logits)
        if any(each.latent for each in entries):
            said.append(self.latent)
        if any(each.frozen for each in entries):
            said.append(self.frozen)
        if any(each.kind is Kind.SCORES and _crosses(each) for each in entries):
            said.append(self.encoder)
        return " ".join(filter(None, [*said, *self.noted(formula)]))

    def noted(self, formula: Formula) -> list[str]:
        """Return the sentences that apply because of the operations in a formula."""
        entries = [line.entry for _, line in formula.root.leaves() if line.entry]
        return [note for matches, note in self.notes.items() if any(map(matches, entries))]

    def checking(self, formula: Formula) -> str:
        """How a formula is checked where there is no certificate of it; empty where nothing else holds it."""
        return self.checked

    def format_dependence(self, part: Counted, given: Mapping[str, str]) -> str:
        """Return why the storage format of a part's weights affects the answer; "" if it does not."""
        return self.by_format

    def check(self, part: Counted, given: Mapping[str, str]) -> None:
        """Raise RuleError where the conventions ask for an implementation that a model's library does not have."""

    def defining(self, conventions: Conventions) -> tuple[Symbol, ...]:
        """Return the sizes of a run that define the quantity. Each accepts a value even if it has no effect."""
        return self.of

    def conditions(self, ledger: Ledger, conventions: Conventions) -> tuple[Condition, ...]:
        """What has to hold for the formula, beyond what the model asks for."""
        return ()

    def account(self, ledger: Ledger, conventions: Conventions) -> Line:
        """What every entry of a ledger comes to. Raises RuleError for a kind that is refused."""
        return tally(ledger.root, lambda entry: self.rules[entry.kind](entry, conventions), weighs=self.weighs)


def _crosses(entry: Entry) -> bool:
    """Whether a decoder's queries meet an encoder's keys."""
    return entry.inputs[1].encoded and not entry.inputs[0].encoded


def tally(
    scope: Scope,
    terms_of: Callable[[Entry], tuple[Term, ...]],
    path: str = "",
    key: str = "",
    weighs: bool = False,
) -> Line:
    """The account of a scope: its entries with their terms, its parts with their own accounts."""
    lines = []
    for item, name in zip(scope.items, _names(scope.items), strict=True):
        own = _join(key, name)
        if isinstance(item, Scope):
            lines.append(tally(item, terms_of, _join(path, item.name), own, weighs))
        else:
            lines.append(Line(item.path, own, ONE, entry=item, terms=terms_of(item)))
    count = scope.distinct if weighs and scope.distinct is not None else scope.count
    return Line(path, key, count, part=scope.part, lines=tuple(lines), among=scope.among)


def _called(item: Scope | Entry) -> str:
    """What an id calls a part or an entry; what only has a number in its list goes by what it is."""
    if isinstance(item, Scope):
        return "parts" if item.name == "*" else item.name.removesuffix(".*") or item.part.name
    return item.path.rpartition(".")[2].replace("*", "weights")


def _names(items: Sequence[Scope | Entry]) -> list[str]:
    """What an id calls each of them. Entries that end alike go by one more word of their paths: ``output.dense``; what
    then still is called as another is numbered: layers of two kinds are ``layers_1`` and ``layers_2``.
    """
    names = [_called(item) for item in items]
    longer = [
        _join(*item.path.split(".")[-2:-1], name) if isinstance(item, Entry) and names.count(name) > 1 else name
        for item, name in zip(items, names, strict=True)
    ]
    names = [name if longer.count(more) > 1 or "*" in more else more for name, more in zip(names, longer, strict=True)]
    several = {name for name in names if names.count(name) > 1}
    return [f"{name}_{names[:place].count(name) + 1}" if name in several else name for place, name in enumerate(names)]


def _join(*names: str) -> str:
    return ".".join(filter(None, names))
