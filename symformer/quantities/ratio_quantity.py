"""Quantities that are a ratio: a count over another count of the same model, or over an amount of the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace

from ..formulas.account import Line, Measure, Term
from ..formulas.formula import Formula, SizeSource
from ..formulas.ratio import Ratio
from ..language.errors import RuleError
from ..language.sizes import Relations, close_relations
from ..language.symbols import B
from ..ledger.facts import ONE
from .quantity import Conventions, Countable, Quantity


@dataclass(frozen=True)
class RunAmount:
    """An amount that no operation of a model determines, such as the peak of the devices."""

    measure: Measure
    terms: Callable[[Conventions], tuple[Term, ...]]

    def formula(
        self,
        part: Countable,
        stem: str,
        given: Mapping[str, str],
        relations: Relations,
        source: SizeSource | None = None,
    ) -> Formula:
        """Return the formula of the amount."""
        root = Line("", "", ONE, part=part, terms=self.terms(given))
        known = close_relations({**part.totals, **relations}, part.totals)
        name = f"{stem}.{self.measure.name}"
        return Formula(name, self.measure, root, relations=known, conventions=given, source=source)


@dataclass(frozen=True)
class RatioQuantity(Quantity):
    """A ratio: the count of the quantity's rules, divided by a denominator under the same conventions.

    Attributes
    ----------
    numerator : Measure
        The measure of the numerator.
    denominator : Quantity or RunAmount
        The denominator, which has every convention of the quantity.
    of_one_sequence : bool
        Whether both are for one sequence if both are proportional to the number of sequences.

    """

    numerator: Measure = field(kw_only=True)
    denominator: Quantity | RunAmount = field(kw_only=True)
    of_one_sequence: bool = field(default=False, kw_only=True)

    def formula(
        self,
        part: Countable,
        stem: str,
        given: Mapping[str, str],
        relations: Relations,
        source: SizeSource | None = None,
        *,
        free_layers: bool = False,
    ) -> Ratio:
        """Return the ratio. Raises OptionError, UnknownNameError, RuleError."""
        if free_layers:
            raise RuleError(f"{self.measure.name} of a stage with any number of layers is not supported")
        above = self.numerator_of(part, stem, given, relations, source)
        part = part.for_quantity(self, given)
        below = self.denominator.formula(part, above.id, above.conventions, relations, source)
        if self.of_one_sequence:
            one, all_ = _for_one_sequence(above.root), _for_one_sequence(below.root)
            if one is not None and all_ is not None:
                above, below = replace(above, root=one), replace(below, root=all_)
        own = {item.name: getattr(above, item.name) for item in fields(above)}
        return Ratio(**own, counts=self.numerator, denominator=below)

    def numerator_of(
        self, part: Countable, stem: str, given: Mapping[str, str], relations: Relations, source: SizeSource | None
    ) -> Formula:
        """Return the formula of the numerator, with the measure of the ratio."""
        return super().formula(part, stem, given, relations, source)


def _for_one_sequence(line: Line) -> Line | None:
    """Return the account for one sequence, or None if a term is not proportional to B."""
    terms = [term for _, below in line.counted() for term in below.terms]
    return _of_one(line) if all(B in term.factors for term in terms) else None


def _of_one(line: Line) -> Line:
    def without(term: Term) -> Term:
        at = term.factors.index(B)
        return replace(term, factors=(*term.factors[:at], *term.factors[at + 1 :]))

    return replace(line, terms=tuple(map(without, line.terms)), lines=tuple(map(_of_one, line.lines)))
