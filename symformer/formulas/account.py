"""The account of one quantity over one ledger: what each entry comes to, as a tree of lines that adds up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from sympy import Add, Expr, Mul

from ..language.errors import DerivationError
from ..language.symbols import LETTERS, MEASURES
from ..ledger.facts import ONE, Entry, Part


@dataclass(frozen=True)
class Measure:
    """What a quantity is called and counted in."""

    name: str  # "params", as on the command line
    title: str  # "parameters"
    letter: str  # "N", as in formulas; with a subscript "F_train"
    unit: str  # "elements"

    def __post_init__(self) -> None:
        """Raise DerivationError for a letter that is, or could be read as, a size of the alphabet."""
        if self.letter in LETTERS or self.letter.partition("_")[0] not in MEASURES:
            raise DerivationError(
                f"{self.name} cannot be called {self.letter}; its letter is one of {', '.join(sorted(MEASURES))}, "
                "which no size has, with or without a subscript"
            )


@dataclass(frozen=True)
class Term:
    """One product of a written-out sum: the shape of a weight multiplied out, or what a contraction costs."""

    label: str
    factors: tuple[Expr, ...]
    gradient: str = ""  # what it is the gradient of, if it is one
    purpose: str = ""  # what of the whole it is, where a quantity tells that: weights, gradients, activations
    weight: str = ""  # whose these are, where they go with a weight: its gradient's bytes, its optimizer's state
    made_of: tuple[Term, ...] = ()  # those that it is the sum of

    @property
    def expr(self) -> Expr:
        return Mul(*self.factors)


def together(terms: Iterable[Term]) -> tuple[Term, ...]:
    """The terms, those of one weight that differ in a number alone as one: 4 bytes an element, and 4, and 8, as 16."""
    alike: dict[object, list[tuple[Term, int]]] = {}
    for place, term in enumerate(terms):
        at = max((index for index, factor in enumerate(term.factors) if factor.is_Integer), default=-1)
        alone = not term.weight or at < 0 or len(term.factors) < 2
        key = place if alone else (term.weight, term.factors[:at], term.factors[at + 1 :])
        alike.setdefault(key, []).append((term, at))
    return tuple(_one(found) if len(found) > 1 else found[0][0] for found in alike.values())


def _one(found: list[tuple[Term, int]]) -> Term:
    terms = tuple(term for term, _ in found)
    first, at = found[0]
    number = Add(*(term.factors[at] for term in terms))
    kinds = ", ".join(term.label.removeprefix(first.weight).strip(" ()") for term in terms)
    factors = (*first.factors[:at], number, *first.factors[at + 1 :])
    return Term(f"{first.weight} ({kinds})", factors, purpose=first.purpose, weight=first.weight, made_of=terms)


@dataclass(frozen=True)
class Line:
    """A part or an entry of the model, what one copy of it comes to, and how many copies stand in the part above."""

    path: str  # as torch names it: "h.*.attn"
    key: str  # as an id names it: "h.attn"; a part that torch does not name goes by its own name
    count: Expr
    part: Part | None = None
    entry: Entry | None = None
    terms: tuple[Term, ...] = ()
    lines: tuple[Line, ...] = ()
    among: Expr | None = None  # of how many layers these are some, where only what is their own stands here

    @cached_property
    def each(self) -> Expr:
        """One copy."""
        return Add(*(term.expr for term in self.terms), *(line.count * line.each for line in self.lines))

    def leaves(self, count: Expr = ONE) -> Iterator[tuple[Expr, Line]]:
        """Each entry's line with its number of copies in the whole."""
        return ((found, line) for found, line in self.counted(count) if line.entry is not None)

    def counted(self, count: Expr = ONE) -> Iterator[tuple[Expr, Line]]:
        """This line and all below it, each with its number of copies in the whole."""
        count = count * self.count
        yield count, self
        for line in self.lines:
            yield from line.counted(count)

    @property
    def name(self) -> str:
        """The last word of its key."""
        return self.key.rpartition(".")[2]

    def walk(self) -> Iterator[Line]:
        """This line and all below it, in order."""
        yield self
        for line in self.lines:
            yield from line.walk()

    def parts(self) -> Iterator[Line]:
        """This line and the parts below it; no entries."""
        return (line for line in self.walk() if line.entry is None)
