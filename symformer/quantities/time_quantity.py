"""Lower bounds on times: bytes over the bandwidth of a device, or FLOPs over its peak, whichever is larger."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sympy import Mul, Symbol

from ..formulas.account import Line, Term
from ..formulas.formula import Formula, SizeSource
from ..formulas.time_bound import TimeBound, longer_time
from ..language.errors import RuleError
from ..language.sizes import Relations
from ..language.symbols import N_bw, N_peak
from ..ledger.facts import ONE, Ledger
from .quantity import BOUND, Convention, Conventions, Countable, Quantity

CHECKED = (
    "torch has no counter for this. The tests compare the bytes, the FLOPs and the time with hand calculations, and "
    "with the memory and FLOPs quantities."
)
FULL = "With attention=full, the bound holds only for kernels that compute masked query-key pairs."
RANKS = "Communication between devices is excluded."


def first(question: Quantity, name: str, value: str) -> Convention:
    """Return a convention of a quantity with another default: the value with the fewest FLOPs, for a lower bound."""
    convention = question.conventions[name]
    return replace(convention, meanings={value: convention.meanings[value], **convention.meanings})


@dataclass(frozen=True)
class TimeQuantity(Quantity):
    """A lower bound on a time, from two quantities of the same run.

    Attributes
    ----------
    moved, work : Quantity
        The bytes that the memory moves at least, and the FLOPs.
    fixed : Mapping[str, str]
        The conventions of both that are always the same.
    tokens : tuple[Symbol, ...]
        The factors of the number of tokens that the time is for.

    """

    moved: Quantity = field(kw_only=True)
    work: Quantity = field(kw_only=True)
    fixed: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    tokens: tuple[Symbol, ...] = field(kw_only=True)

    @property
    def tables(self) -> Iterable[Mapping[Any, Any]]:
        """The tables of both quantities."""
        return (self.rules, *self.moved.tables, *self.work.tables)

    def formula(
        self,
        part: Countable,
        stem: str,
        given: Mapping[str, str],
        relations: Relations,
        source: SizeSource | None = None,
        *,
        free_layers: bool = False,
    ) -> TimeBound:
        """Return the bound. Raises OptionError, UnknownNameError, RuleError."""
        if free_layers:
            raise RuleError(f"{self.measure.name} of a stage with any number of layers is not supported")
        chosen = self.choose(given)
        name = f"{stem}.{self.measure.name}"
        moved, work = (
            self._side(side, part, stem, {**chosen, **self.fixed}, relations, source)
            for side in (self.moved, self.work)
        )
        longer = longer_time(moved.root.each, work.root.each)
        return TimeBound(
            id=name,
            measure=self.measure,
            root=Line("", "", ONE, part=part, terms=(Term("time", (longer,)),)),
            relations=moved.relations,
            totals=moved.totals,
            conventions=chosen,
            constraints=tuple(dict.fromkeys((*moved.constraints, *work.constraints))),
            source=source,
            defining_sizes=frozenset((*self.run_sizes, N_bw, N_peak)) | moved.defining_sizes | work.defining_sizes,
            ranks=moved.ranks,
            moved=moved,
            work=work,
            tokens=Mul(*self.tokens),
        )

    def _side(
        self,
        side: Quantity,
        part: Countable,
        stem: str,
        given: Conventions,
        relations: Relations,
        source: SizeSource | None,
    ) -> Formula:
        own = {name: value for name, value in given.items() if name in side.choices}
        return side.formula(part, stem, own, relations, source)

    def basis_for(self, formula: Formula) -> str:
        """Return that the time is a bound."""
        return BOUND

    def default_sizes(self, part: Countable, conventions: Conventions) -> Mapping[Symbol, int]:
        """Return the values of sizes that the format of the weights introduces."""
        own = {name: value for name, value in conventions.items() if name in self.moved.choices}
        own |= {name: value for name, value in self.fixed.items() if name in self.moved.choices}
        return self.moved.default_sizes(part, own)

    def format_dependence(self, part: Countable, given: Mapping[str, str]) -> str:
        """Return why the format of a part's weights affects the answer; "" if the format is given."""
        return self.moved.format_dependence(part, given)

    def account(self, ledger: Ledger, conventions: Conventions) -> Line:
        """Raise RuleError: the bound is not a sum over operations."""
        raise RuleError(f"{self.measure.name} is not a sum over operations")
