"""The amounts that a short formula of a paper can count: a model, a part or an operation, under simple conventions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from sympy import Expr, Integer, Rational, expand

from ..formulas.formula import Formula
from ..language.notation.text import text
from ..ledger.facts import ATTENDING
from .account_terms import PRIME, AccountTerm, account_terms, fingerprint, total_of_terms
from .name_binding import STORED
from .paper_conventions import scales

CACHES = ("kv-cache",)
ONE_COPY = "one copy is counted"
JOINED = ", and "  # joins conventions in one sentence


@dataclass(frozen=True)
class CountedPart:
    """One amount: a part of a formula under conventions."""

    path: str  # the path of the part, or empty for the whole model
    conventions: tuple[str, ...]
    amount: Expr = field(repr=False)  # before the scale
    scale: Expr = field(default=Integer(1), repr=False)

    @cached_property
    def expr(self) -> Expr:
        """The amount as a polynomial."""
        return expand(self.amount * self.scale)

    @property
    def cost(self) -> int:
        """The number of conventions, to choose the simplest of several descriptions. One copy is the natural amount."""
        return sum(1 + each.count(JOINED) for each in self.conventions if each != ONE_COPY)


@dataclass(frozen=True)
class PartIndex:
    """The amounts of one formula by their fingerprints."""

    formula: Formula
    by_number: Mapping[int, Sequence[CountedPart]]

    @classmethod
    def of(cls, formula: Formula) -> PartIndex:
        """Return the index of a formula: an additive one by its parts, a ratio as a whole."""
        found: dict[int, list[CountedPart]] = {}
        for each in _parts(formula):
            number = fingerprint(each.amount)
            scale = fingerprint(each.scale)
            if number is not None and scale is not None and each.amount != 0:
                found.setdefault(number * scale % PRIME, []).append(each)
        return cls(formula, found)

    def matching(self, number: int | None, expr: Expr) -> list[CountedPart]:
        """Return the amounts that equal an expression with this fingerprint, the simplest first."""
        some = self.by_number.get(number, ()) if number is not None else ()
        return sorted((each for each in some if expand(each.expr - expr) == 0), key=lambda each: each.cost)


def _parts(formula: Formula) -> Iterator[CountedPart]:
    if not formula.additive:
        yield CountedPart("", (), formula.expanded)
        return
    factors = [("", Integer(1)), *((name, factor) for name, factor in scales(formula, formula.expanded) if name)]
    unwanted = ["copies", " is in "]  # copies are counted by part, and units are printed next to a formula
    if formula.measure.name not in CACHES:
        unwanted.append("elements")  # papers count the elements of a cache, and the bytes of activations
    factors = [(name, factor) for name, factor in factors if not any(each in name for each in unwanted)]
    for path, said, amount in _amounts(formula):
        for name, factor in factors:
            yield CountedPart(path, (*said, name) if name else said, amount, factor)


def _amounts(formula: Formula) -> Iterator[tuple[str, tuple[str, ...], Expr]]:
    """Yield each part and operation: all copies, then one copy; without biases; attention at its mean context."""
    terms = account_terms(formula)
    copies = {line.path: count for count, line in formula.root.counted() if line.path}
    groups: dict[str, list[AccountTerm]] = {"": list(terms)}
    for each in terms:
        pieces = each.path.split(".")  # h.* is the same part as h
        for length in range(1, len(pieces) + 1):
            if pieces[length - 1] != "*":
                groups.setdefault(".".join(pieces[:length]), []).append(each)
    for path, some in groups.items():
        for said, kept in _variants(formula, some):
            total = total_of_terms(kept)
            count = copies.get(path, copies.get(f"{path}.*", Integer(1)))
            if count == 1 or not path:
                yield path, said, total
            else:
                yield path, (*said, ONE_COPY), expand(total / count)
                yield path, (*said, f"all {text(count)} copies are counted"), total


def _variants(formula: Formula, terms: Sequence[AccountTerm]) -> Iterator[tuple[tuple[str, ...], list[AccountTerm]]]:
    yield (), list(terms)
    if formula.measure.name in STORED:
        without = [each for each in terms if not each.label.endswith(".bias")]
        if len(without) < len(terms):
            yield ("the biases are left out",), without
        return
    stepping = [each for each in terms if each.label.endswith("(step)")]
    if stepping:
        yield ("the step counters of Adam are left out",), [each for each in terms if each not in stepping]
    core = [each for each in terms if each.entry.kind in ATTENDING]
    if core and formula.measure.unit in ("FLOPs", "MACs"):
        said = "only the attention core (scores and weighted values) is counted"
        if len(core) < len(terms):
            yield (said,), core
        half = [_scaled(each, Rational(1, 2)) for each in core]
        yield (f"{said}, at a mean context of S/2 tokens",), half


def _scaled(each: AccountTerm, factor: Expr) -> AccountTerm:
    return AccountTerm(each.path, each.label, expand(each.total * factor), each.entry, each.repeated)
