"""Quantities: a total table with one short rule per kind of operation, summed over a ledger.

Every kind has a row in every table: its rule adds terms, adds nothing (zero by decision, not by omission), or raises an
error with the reason. Constructing a quantity whose table lacks a kind is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol, Self, TypeVar, cast

from sympy import Expr, Symbol

from ..formulas.account import Line, Measure, Term
from ..formulas.formula import Formula, SizeSource
from ..language.aliases import Alias
from ..language.errors import OptionError, RuleError, UnknownNameError, choose
from ..language.sizes import Condition, Divides, Relations, close_relations
from ..language.symbols import B_vis, C, L, N_cp, S, Z
from ..ledger.adapters import has_magnitudes, is_adapted
from ..ledger.facts import ATTENDING, CARRYING, ONE, SCATTERED, Entry, Ledger, OperationKind, Scope, Weight
from ..ledger.pipeline_stages import layer_counts, stage
from ..ledger.placement import CHOICES, WHOLE, Divisible, Placement, conditions, place, ranks
from .length_conditions import length_conditions

BY_LAYOUT, BY_ENGINE, BOUND = "exact by layout", "by the engine's convention", "bound"
COUNTED = "counted"  # the convention that selects a published rule set
SEQUENCES, IMAGES = "B sequences of S tokens", "B images"
TEXTS_AND_IMAGES = f"{SEQUENCES} and B_vis images"
AMONG = "The tokens that stand for images are among the S tokens."
BOTH = "The S tokens are the decoder's; the encoder's pass is included."  # if a decoder attends to an encoder
Conventions = Mapping[str, str]
R = TypeVar("R")
Rule = Callable[[Entry, Conventions], tuple[Term, ...]]


def counts_nothing(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return no terms: the kind adds zero by decision, not by omission."""
    return ()


def stored(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return one term per weight that the entry stores: the product of its shape."""
    return tuple(Term(weight.path, weight.shape) for weight in entry.weights)


def shared(weight: Weight) -> tuple[Expr, ...]:
    """Return the stored share of a weight that several layers share; empty if each layer has its own."""
    return (weight.share,) if weight.share != 1 else ()


def refuse(because: str) -> Callable[[Entry, Conventions], Any]:
    """Return a rule that raises RuleError with this reason."""

    def rule(entry: Entry, conventions: Conventions) -> Any:
        raise RuleError(f"{entry.path}: {because}")

    return rule


def measured(quantity: str, terms: Rule) -> Rule:
    """Return a rule for traced entries that counts them for ``quantity`` and raises RuleError if traced for another."""

    def rule(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
        if entry.measured != quantity:
            refuse_observed(entry, conventions)
        return terms(entry, conventions)

    return rule


def refuse_observed(entry: Entry, conventions: Conventions) -> Any:
    """Raise RuleError: the entry was traced for another quantity."""
    raise RuleError(f"{entry.path}: this was traced for {entry.measured} only, so other quantities cannot count it")


def rows(rule: R, *kinds: OperationKind) -> dict[OperationKind, R]:
    """Return table rows with one rule for all these kinds."""
    return dict.fromkeys(kinds, rule)


def refuse_others(because: str, table: Mapping[OperationKind, R]) -> dict[OperationKind, R]:
    """Return the table completed with a refusal for every missing kind, including kinds added later."""
    return {**rows(cast(R, refuse(because)), *OperationKind), **table}


def require_total(table: Mapping[OperationKind, R], what: str) -> Mapping[OperationKind, R]:
    """Return the table unchanged. Raises RuleError if it lacks a row for a kind of operation."""
    if missing := [kind.value for kind in OperationKind if kind not in table]:
        raise RuleError(
            f"the table of {what} has no row for {', '.join(missing)}; add a rule, counts_nothing or refuse(because)"
        )
    return table


@dataclass(frozen=True)
class Convention:
    """A named choice between values.

    Attributes
    ----------
    meanings : Mapping[str, str]
        The meaning of each value. The first value is the default.
    applies_to : Callable[[Entry], bool]
        Whether an operation is affected. The default value is reported only for models with an affected operation.
    hidden_by_default : bool
        Whether the conventions of a formula lack the default value.
    always_printed : bool
        Whether people read the default value nevertheless, next to a formula with an affected operation.
    omitted : bool
        Whether a formula without an affected operation has no such convention, whatever its value.
    unusual : Collection[str]
        Values that nothing tries unless they are given: so many formats would match a printed number by chance.

    """

    meanings: Mapping[str, str]
    applies_to: Callable[[Entry], bool] = lambda entry: True
    hidden_by_default: bool = False
    always_printed: bool = False
    omitted: bool = False
    unusual: Collection[str] = ()

    @property
    def usual(self) -> list[str]:
        """The values that are compared with each other."""
        return [value for value in self.meanings if value not in self.unusual]

    @property
    def default(self) -> str:

        return next(iter(self.meanings))


# The placement of the counted rank: every quantity accepts these, and prints them only if they differ from the default.
PLACEMENT: Mapping[str, Convention] = {
    name: Convention(meanings, hidden_by_default=True) for name, meanings in CHOICES.items()
}


class Countable(Divisible, Protocol):
    """A part with a name, a ledger, the conditions of its formulas, and the library of its torch class."""

    @property
    def name(self) -> str: ...

    @property
    def role(self) -> str: ...

    @property
    def ledger(self) -> Ledger: ...

    @property
    def constraints(self) -> tuple[Condition, ...]: ...

    @property
    def totals(self) -> Relations: ...

    @property
    def library(self) -> str: ...

    @property
    def activation_refusal(self) -> str: ...

    @property
    def accepts_sdpa(self) -> bool: ...

    def for_quantity(self, question: Quantity, given: Mapping[str, str]) -> Self: ...


@dataclass(frozen=True)
class Quantity:
    """A quantity: its measure, its counting rules and its conventions.

    Raises RuleError on construction if a table of rules lacks a kind of operation.
    """

    of_run: ClassVar[bool] = True  # whether it depends on the operations of a run, not on weights and caches alone

    measure: Measure
    statement: str  # the definition of the quantity, in words
    rules: Mapping[OperationKind, Rule]
    columns: tuple[str, str]  # the headers of the table of terms in a derivation: a term and its factors
    conventions: Mapping[str, Convention] = field(default_factory=dict)
    checked_by: str = ""  # how it is checked if torch has no counter for it and there is no certificate
    basis: str = ""  # the basis of its numbers, if they are bytes in memory: BY_LAYOUT
    by_format: str = ""  # why the storage format of weights affects the answer; "" if it does not
    derived_from: str = ""  # the quantity it is computed from: traced counts of that quantity answer this one too
    counts_storage: bool = (
        False  # whether it counts stored weights rather than executed layers; layers may share weights
    )
    decoded_tokens: int = 1  # the number of tokens processed after those in the cache
    run_sizes: tuple[Symbol, ...] = ()  # the sizes of a run that define it, even if a model does not depend on them
    frozen: str = ""  # added to the statement if a stored weight is never trained
    encoder: str = ""  # added to the statement if a decoder attends to an encoder
    logits: str = ""  # added to the statement if logits are computed
    latent: str = ""  # added to the statement if keys and values are computed from latents
    recurrent: str = ""  # replaces the statement for models with recurrent states and no attention
    notes: Mapping[Callable[[Entry], bool], str] = field(
        default_factory=dict
    )  # a sentence for models with a matching entry

    def __post_init__(self) -> None:
        for table in self.tables:
            require_total(table, self.measure.name)

    @property
    def tables(self) -> Iterable[Mapping[OperationKind, Any]]:
        """All tables of rules; each must be total."""
        return (self.rules,)

    @property
    def traced_quantity(self) -> str:
        """The quantity to trace a model for."""
        return self.derived_from or self.measure.name

    @property
    def observed_quantity(self) -> str:
        """The quantity whose traced, unrecognized rows answer this one."""
        return self.measure.name if self.rules.get(OperationKind.OBSERVED) is refuse_observed else self.traced_quantity

    @property
    def choices(self) -> Mapping[str, Convention]:
        """The conventions of the quantity and of the placement on ranks."""
        return {**self.conventions, **PLACEMENT}

    def choose(self, given: Mapping[str, str]) -> dict[str, str]:
        """Return the value of every convention; quiet conventions only if they differ from the default.

        Parameters
        ----------
        given : Mapping[str, str]
            The values that were set, by the name of the convention.

        Raises
        ------
        UnknownNameError
            For a convention that the quantity does not have.
        OptionError
            For a value that the convention does not have.

        """
        known = self.choices
        for name, value in given.items():
            if name not in known:
                raise UnknownNameError(f"convention of {self.measure.name}", name, known)
            if value not in known[name].meanings:
                choices = list(known[name].meanings)
                families = dict.fromkeys(
                    f"{prefix}:TYPE" if kind else prefix for prefix, _, kind in map(_parts, choices)
                )
                remedy = choose(value, choices, f"choose from {', '.join(families)}")
                raise OptionError(f"{name}={value} is not supported by {self.measure.name}; {remedy}")
        chosen = {name: given.get(name, convention.default) for name, convention in known.items()}
        return {
            name: value
            for name, value in chosen.items()
            if not known[name].hidden_by_default or value != known[name].default
        }

    def formula(
        self,
        part: Countable,
        stem: str,
        given: Mapping[str, str],
        relations: Relations,
        source: SizeSource | None = None,
        *,
        free_layers: bool = False,
    ) -> Formula:
        """Return the formula of a part. Every answer is computed here.

        Parameters
        ----------
        part : Counted
            The component to count.
        stem : str
            The beginning of the formula's id.
        given : Mapping[str, str]
            The conventions that were set.
        relations : Relations
            Sizes that are expressed by other sizes.
        source : Source, optional
            The model the formula belongs to.
        free_layers : bool
            With ``pipeline``: the stage has any number of layers of each kind, instead of 1/N_pp of all layers. The
            sizes that count layers then count the layers of the stage.

        Raises
        ------
        OptionError, UnknownNameError
            For an unknown convention or value.
        RuleError
            If the model has an operation that the quantity does not support.

        """
        if (own := self.at(source)) is not self:
            return own.formula(part, stem, given, relations, source, free_layers=free_layers)
        part = part.for_quantity(self, given)
        given = self.with_defaults(part, given)
        constraints = tuple(each for each in part.constraints if self.of_run or not getattr(each, "of_run", False))
        self.check(part, given)
        chosen = self.choose(given)
        placement = Placement.of(chosen)
        ledger = part.ledger
        if has_magnitudes(ledger) and not self.counts_magnitudes(chosen):
            raise RuleError(
                f"{self.measure.name} of a model with DoRA is not supported; choose params, active-params, "
                "trainable-params, weight-memory, or train-memory with implementation=none"
            )
        if placement != WHOLE:
            if is_adapted(ledger):
                options = ", ".join(f"{name}={chosen[name]}" for name in PLACEMENT if name in chosen)
                raise RuleError(f"per-rank adapters are not supported; remove {options}")
            counts = layer_counts(ledger) if free_layers else ()
            local = replace(placement, pipeline="off") if counts else placement
            ledger = place(part, local)
            constraints = (*constraints, *conditions(ledger, local, constraints))
            if counts:
                ledger = Ledger(stage(ledger.apart.root, placement.pipeline), ledger.output)
                constraints = tuple(each for each in constraints if not each.symbols & {L, *counts})
            if placement.context == "on" and chosen.get("attention") == "causal":
                constraints = (
                    *constraints,
                    Divides(2 * N_cp, S),
                )  # an early and a late piece per rank
        root = self.account(ledger, chosen)
        if placement.context == "on" and root.each.has(C):
            constraints = (*constraints, Divides(N_cp, C))
        totals = {**part.totals, **self.totals_of(ledger, chosen)}
        reach = length_conditions(ledger, root.each.free_symbols, self.decoded_tokens)
        return Formula(
            id=f"{stem}.{self.measure.name}",
            measure=self.measure_under(chosen),
            root=root,
            relations=close_relations({**totals, **relations}, totals),
            totals=frozenset(totals),
            conventions=self._affecting(chosen, ledger),
            constraints=(*constraints, *self.conditions(ledger, chosen), *reach),
            source=source,
            defining_sizes=frozenset(self.defining_sizes(chosen)),
            ranks=ranks(placement, chosen.get("data", "off") != "off"),
        )

    def _affecting(self, chosen: Conventions, ledger: Ledger) -> dict[str, str]:
        """Return the conventions of a formula: without those that are omitted where no operation is affected."""
        absent = {
            name
            for name in chosen
            if self.choices[name].omitted and not any(self.choices[name].applies_to(entry) for _, entry in ledger)
        }
        return {name: value for name, value in chosen.items() if name not in absent}

    def at(self, source: SizeSource | None) -> Self:
        """Return the quantity at the sizes of a model, if its rules depend on their values."""
        return self

    def default_sizes(self, part: Countable, conventions: Conventions) -> Mapping[Symbol, int]:
        """Return the values of sizes of the run that the conventions introduce and that the model need not set."""
        return {}

    def takes_own_format(self, part: Countable) -> bool:
        """Return whether the weights count in the format in which the model is published, unless one is given."""
        return False

    def measure_under(self, conventions: Conventions) -> Measure:
        """Return the measure of a formula under these conventions."""
        return self.measure

    def shown_conventions(self, formula: Formula) -> dict[str, str]:
        """Return the conventions of a formula, without default values that affect none of its operations."""
        entries = [line.entry for _, line in formula.root.leaves() if line.entry]
        printed = {
            name: formula.conventions.get(name, convention.default)
            for name, convention in self.choices.items()
            if name in formula.conventions or convention.always_printed
        }
        return {
            name: value
            for name, value in printed.items()
            if not entries
            or value != self.choices[name].default
            or any(self.choices[name].applies_to(each) or each.kind is OperationKind.OBSERVED for each in entries)
        }

    def meaning_for(self, name: str, formula: Formula) -> str:
        """Return the meaning of the value that a formula has of a convention."""
        return self.choices[name].meanings[self.shown_conventions(formula)[name]]

    def statement_for(self, formula: Formula) -> str:
        """Return the statement of the quantity for one formula, in words."""
        entries = [line.entry for _, line in formula.root.leaves() if line.entry]
        drawn = {size for each in entries for dim in each.output.shape for size in dim.free_symbols}
        read = SEQUENCES
        if B_vis in drawn:
            read = TEXTS_AND_IMAGES
        elif Z in drawn and S not in drawn:  # the number of tokens follows from the image size
            read = IMAGES
        kinds = {each.kind for each in entries}
        alone = self.recurrent and not kinds.isdisjoint(CARRYING) and kinds.isdisjoint(ATTENDING)
        said = [self.recurrent] if alone else [self.statement.replace(SEQUENCES, read)]
        if SEQUENCES in self.statement and any(each.function == SCATTERED for each in entries):
            said.append(AMONG)
        if any(each.logits for each in entries):
            said.append(self.logits)
        if any(each.latent for each in entries):
            said.append(self.latent)
        if any(each.frozen for each in entries):
            said.append(self.frozen)
        if any(each.kind is OperationKind.SCORES and _crosses(each) for each in entries):
            said.append(self.encoder)
        return " ".join(filter(None, [*said, *self.notes_for(formula)]))

    def notes_for(self, formula: Formula) -> list[str]:
        """Return the sentences that apply because of the operations in a formula."""
        entries = [line.entry for _, line in formula.root.leaves() if line.entry]
        return [note for matches, note in self.notes.items() if any(map(matches, entries))]

    def basis_for(self, formula: Formula) -> str:
        """Return the basis of the numbers of a formula: BY_LAYOUT, BY_ENGINE, BOUND, or ""."""
        if self.basis == BY_LAYOUT and (formula.conventions.get("engine", "transformers") != "transformers"):
            return BY_ENGINE
        return BY_ENGINE if self.basis and "block" in formula.conventions else self.basis

    def check_description(self, formula: Formula) -> str:
        """Return how a formula without a certificate is checked; "" if there is no such check."""
        return self.checked_by

    def format_dependence(self, part: Countable, given: Mapping[str, str]) -> str:
        """Return why the storage format of a part's weights affects the answer; "" if it does not."""
        return self.by_format

    def with_defaults(self, part: Countable, given: Mapping[str, str]) -> Mapping[str, str]:
        """Return the conventions that were set, and the defaults of others that depend on these and on the part."""
        return given

    def counts_magnitudes(self, conventions: Conventions) -> bool:
        """Return True if DoRA is supported: only if nothing but stored weights is counted."""
        return self.counts_storage

    def check(self, part: Countable, given: Mapping[str, str]) -> None:
        """Raise RuleError if a convention is not supported for this part."""

    def defining_sizes(self, conventions: Conventions) -> tuple[Symbol, ...]:
        """Return the sizes of a run that define the quantity. Each accepts a value even if it has no effect."""
        return self.run_sizes

    def conditions(self, ledger: Ledger, conventions: Conventions) -> tuple[Condition, ...]:
        """Return the conditions of the formula in addition to the model's."""
        return ()

    def totals_of(self, ledger: Ledger, conventions: Conventions) -> Relations:
        """Return the sizes that the terms of the quantity name, in addition to the totals of the model."""
        return {}

    def account(self, ledger: Ledger, conventions: Conventions) -> Line:
        """Return the total of every entry of a ledger. Raises RuleError for an unsupported kind of operation."""
        return tally(
            ledger.root, lambda entry: self.rules[entry.kind](entry, conventions), counts_storage=self.counts_storage
        )

    # Former names
    said = Alias("shown_conventions")
    states = Alias("statement_for")
    checking = Alias("check_description")
    noted = Alias("notes_for")
    defining = Alias("defining_sizes")
    checked = Alias("checked_by")


def _parts(value: str) -> tuple[str, str, str]:
    return value.partition(":")


def _crosses(entry: Entry) -> bool:
    """Return True for cross-attention: a decoder's queries with an encoder's keys."""
    return entry.inputs[1].encoded and not entry.inputs[0].encoded


def tally(
    scope: Scope,
    terms_of: Callable[[Entry], tuple[Term, ...]],
    path: str = "",
    key: str = "",
    counts_storage: bool = False,
) -> Line:
    """Return the account of a scope: a tree with one leaf per entry and one branch per part.

    Parameters
    ----------
    scope : Scope
        The scope to account for.
    terms_of : Callable[[Entry], tuple[Term, ...]]
        The rule that returns the terms of an entry.
    path : str
        The torch path of the scope.
    key : str
        The id of the scope within the formula.
    counts_storage : bool
        Whether to count only layers with distinct weights.

    """
    lines = []
    for item, name in zip(scope.items, _names(scope.items), strict=True):
        own = _join(key, name)
        if isinstance(item, Scope):
            lines.append(tally(item, terms_of, _join(path, item.name), own, counts_storage))
        else:
            lines.append(Line(item.path, own, ONE, entry=item, terms=terms_of(item)))
    count = scope.distinct if counts_storage and scope.distinct is not None else scope.count
    return Line(
        path,
        key,
        count,
        part=scope.part,
        lines=tuple(lines),
        parallel=scope.parallel,
        among=scope.among,
        listed=scope.listed,
    )


def _called(item: Scope | Entry) -> str:
    """Return the name of a part or an entry in ids. A list item without a name is named after its part."""
    if isinstance(item, Scope):
        return item.label or ("parts" if item.name == "*" else item.name.removesuffix(".*") or item.part.name)
    return item.path.rpartition(".")[2].replace("*", "weights")


def _names(items: Sequence[Scope | Entry]) -> list[str]:
    """Return unique names of items for ids.

    Entries with the same last word get one more word of their paths: ``output.dense``. Remaining duplicates are
    numbered: layers of two kinds are ``layers_1`` and ``layers_2``.
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
