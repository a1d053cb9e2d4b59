"""A switch: an alternative convention, as a change of the formula, of a size or of the unit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from fractions import Fraction
from functools import lru_cache

from sympy import Add, Expr, Symbol, expand

from ...formulas.account import Line, Term
from ...formulas.formula import Formula
from ...language.frozen import Immutable
from ...language.sizes import evaluate
from ...ledger.facts import ZERO, Entry


class Rank(IntEnum):
    """The plausibility of a convention: of several that explain a number, the lowest rank is reported first."""

    PLAIN = 0
    BINARY = 1  # GiB printed as GB
    NOMINAL = 2  # the size in the name of the model, such as 7B
    HEAD = 3  # another head, a tied head counted twice, the files of a repository
    KNOWN = 4  # known counts of an architecture: another model's vocabulary, causal masks, an MTP layer, all key heads
    EMBEDDINGS = 5
    FORMAT = 6  # the usual formats of quantization, and the memory of training
    PARTS = 7  # biases, norms, everything outside the layers
    RARE = 8  # unusual formats, packed weights, replicas, padded vocabularies


@dataclass(frozen=True)
class CountingChange(Immutable):
    """One alternative convention. Switches with a common name in ``decides`` exclude each other."""

    decides: frozenset[str]
    says: str  # "the tied head counted a second time"
    change: Expr = ZERO
    sizes: Mapping[Symbol, int] = field(default_factory=dict)
    scale: Fraction = Fraction(1)
    rows: tuple[str, ...] = ()  # the paths of the rows that change
    meaning: str = ""  # the meaning of a convention of a quantity
    rank: Rank = Rank.PLAIN
    parts: tuple[Expr, ...] = ()  # the summands of the change, if its arithmetic shows them one by one


@dataclass(frozen=True)
class RowTotal:
    """The total of some rows of a formula, over all copies."""

    total: Expr
    rows: tuple[str, ...]

    @property
    def there(self) -> bool:
        """True if the total is not 0."""
        return bool(self.total != 0)

    def __add__(self, other: RowTotal) -> RowTotal:
        return RowTotal(self.total + other.total, (*self.rows, *other.rows))


@dataclass(frozen=True)
class FormulaTerm:
    """One term of a formula: its number of copies, its line and entry, and the term itself."""

    count: Expr
    line: Line
    entry: Entry
    term: Term

    @property
    def total(self) -> Expr:
        """The total over all copies."""
        return self.count * self.term.expr

    @property
    def is_bias(self) -> bool:
        """True for a bias."""
        return self.term.label.endswith("bias") and len(self.term.factors) < 3


def rows_of(formula: Formula) -> list[FormulaTerm]:
    """Return every term of a formula."""
    return [
        FormulaTerm(count, line, line.entry, term)
        for count, line in formula.root.leaves()
        if line.entry is not None
        for term in line.terms
    ]


def row_total(rows: Iterable[FormulaTerm]) -> RowTotal:
    """Return the total of some rows."""
    taken = list(rows)
    return RowTotal(Add(*(row.total for row in taken)), tuple(dict.fromkeys(row.line.path for row in taken)))


def exclusion(decides: str, says: str, what: RowTotal) -> list[CountingChange]:
    """Return the switch that omits some rows, or [] if their total is 0."""
    return [CountingChange(frozenset(decides.split()), says, -what.total, rows=what.rows)] if what.there else []


def addition(decides: str, says: str, change: Expr, rows: Iterable[str] = ()) -> list[CountingChange]:
    """Return the switch that adds an amount, or [] if it is 0."""
    return [CountingChange(frozenset(decides.split()), says, change, rows=tuple(rows))] if change != 0 else []


def value_at(expr: Expr, numbers: Mapping[Symbol, int]) -> Fraction:
    """Return the exact value of an expression, with a fast path for integer powers of sizes.

    Raises SizeError if a size has no number.
    """
    terms = _terms(expr)
    if terms is None or any(size not in numbers for _, powers in terms for size, _ in powers):
        above, below = expr.as_numer_denom()
        return Fraction(evaluate(above, numbers, "the count"), evaluate(below, numbers, "the count"))
    total = Fraction(0)
    for number, powers in terms:
        product = number
        for size, power in powers:
            product *= Fraction(numbers[size]) ** power
        total += product
    return total


Terms = tuple[tuple[Fraction, tuple[tuple[Symbol, int], ...]], ...]


@lru_cache(4096)
def _terms(expr: Expr) -> Terms | None:
    """Return an expression as numbers times powers of sizes, or None if it contains a floor or a quotient of sums."""
    terms = []
    for term in Add.make_args(expand(expr)):
        number, rest = term.as_coeff_Mul()
        powers = [(base, power) for base, power in rest.as_powers_dict().items() if base != 1]
        if not number.is_Rational or not all(base.is_Symbol and power.is_Integer for base, power in powers):
            return None
        terms.append((Fraction(int(number.p), int(number.q)), tuple((base, int(power)) for base, power in powers)))
    return tuple(terms)
