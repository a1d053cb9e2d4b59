"""A quantity: a table with one short rule for each kind of operation, summed over a ledger."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sympy import Integer

from ..account import Line, Measure, Term
from ..errors import OptionError, RuleError, UnknownNameError
from ..formula import Formula, Source
from ..ledger import Entry, Kind, Ledger, Scope
from ..sizes import Divides, Relations

Conventions = Mapping[str, str]
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


@dataclass(frozen=True)
class Quantity:
    """One question, the rules that answer it, and the conventions it is answered under."""

    measure: Measure
    statement: str  # what is counted, in words, before any number
    rules: Mapping[Kind, Rule]
    columns: tuple[str, str]  # what the table of a derivation calls a term and its factors
    conventions: Mapping[str, Convention] = field(default_factory=dict)

    def choose(self, given: Mapping[str, str]) -> dict[str, str]:
        """Every convention with the value chosen for it. Raises OptionError or UnknownNameError."""
        for name, value in given.items():
            if name not in self.conventions:
                raise UnknownNameError(f"convention of {self.measure.name}", name, self.conventions)
            if value not in self.conventions[name].meanings:
                choices = ", ".join(self.conventions[name].meanings)
                raise OptionError(f"{name}={value} is not a convention of {self.measure.name}; choose from {choices}")
        return {name: given.get(name, convention.default) for name, convention in self.conventions.items()}

    def formula(
        self,
        ledger: Ledger,
        stem: str,
        given: Mapping[str, str],
        relations: Relations,
        constraints: tuple[Divides, ...],
        source: Source | None = None,
    ) -> Formula:
        """The formula of a ledger, whose id starts with ``stem``. Raises OptionError, UnknownNameError, RuleError."""
        chosen = self.choose(given)
        return Formula(
            id=f"{stem}.{self.measure.name}",
            measure=self.measure,
            root=self.account(ledger, chosen),
            relations=relations,
            conventions=chosen,
            constraints=constraints,
            source=source,
        )

    def account(self, ledger: Ledger, conventions: Conventions) -> Line:
        """What every entry of a ledger comes to. Raises RuleError for a kind that has no rule."""
        return self._scope(ledger.root, "", "", conventions)

    def _scope(self, scope: Scope, path: str, key: str, conventions: Conventions) -> Line:
        lines = []
        for item in scope.items:
            if isinstance(item, Scope):
                name = item.name.removesuffix(".*") or item.part.name
                lines.append(self._scope(item, _join(path, item.name), _join(key, name), conventions))
            else:
                lines.append(self._entry(item, key, conventions))
        return Line(path, key, scope.count, part=scope.part, lines=tuple(lines))

    def _entry(self, entry: Entry, key: str, conventions: Conventions) -> Line:
        rule = self.rules.get(entry.kind)
        if rule is None:
            raise RuleError(f"{entry.path}: {self.measure.name} has no rule for the operation {entry.kind.value!r}")
        own = _join(key, entry.path.rpartition(".")[2])
        return Line(entry.path, own, Integer(1), entry=entry, terms=rule(entry, conventions))


def _join(*names: str) -> str:
    return ".".join(filter(None, names))
