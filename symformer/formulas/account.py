"""The account of one quantity over one ledger: the total of each entry, as a tree of lines that sums exactly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from sympy import Add, Expr, Mul

from ..language.errors import DerivationError
from ..language.symbols import LETTERS, MEASURES, TIME
from ..ledger.facts import ONE, Entry, Part


@dataclass(frozen=True)
class Measure:
    """The name, letter and unit of a quantity."""

    name: str  # "params", as on the command line
    title: str  # "parameters"
    letter: str  # "N", as in formulas; with a subscript "F_train"
    unit: str  # "elements"
    sparse: bool = False  # whether most operations contribute nothing, so that tables list only the others

    def __post_init__(self) -> None:
        """Raise DerivationError for a letter that is a size of the alphabet or could be confused with one."""
        base, subscript, _ = self.letter.partition("_")
        if self.letter in LETTERS or (base not in MEASURES and not (base == TIME and subscript)):
            raise DerivationError(
                f"{self.name} cannot have the letter {self.letter}; use one of {', '.join(sorted(MEASURES))}, "
                "which are not sizes, with or without a subscript"
            )


@dataclass(frozen=True)
class Term:
    """One product of a sum: the number of elements of a weight, or the cost of a contraction."""

    label: str
    factors: tuple[Expr, ...]
    gradient: str = ""  # the tensor that it is the gradient of, if any
    purpose: str = ""  # its purpose, if the quantity has purposes: weights, gradients, activations
    weight: str = ""  # the weight that it belongs to, such as for the bytes of its gradient or optimizer state
    made_of: tuple[Term, ...] = ()  # the terms that it is the sum of

    @property
    def expr(self) -> Expr:
        return Mul(*self.factors)


def together(terms: Iterable[Term]) -> tuple[Term, ...]:
    """Combine the terms of a weight that differ only in a number: 4, 4 and 8 bytes per element become 16."""
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
    """A part or an entry of the model, with the total of one copy and the number of copies in its parent."""

    path: str  # the torch name: "h.*.attn"
    key: str  # the name in ids: "h.attn"; a part without a torch name has its own name
    count: Expr
    part: Part | None = None
    entry: Entry | None = None
    terms: tuple[Term, ...] = ()
    lines: tuple[Line, ...] = ()
    parallel: bool = False  # whether its copies are side by side; in a layer, the count is the share of the layers
    among: Expr | None = None  # the number of all layers, if this line is one of several of a list of layers
    listed: str = ""  # the path of the list in the class, if the path is of the layers of one kind

    @cached_property
    def each(self) -> Expr:
        """The total of one copy."""
        return Add(*(term.expr for term in self.terms), *(line.count * line.each for line in self.lines))

    def leaves(self, count: Expr = ONE) -> Iterator[tuple[Expr, Line]]:
        """Return the line of each entry with its number of copies in the whole model."""
        return ((found, line) for found, line in self.counted(count) if line.entry is not None)

    def counted(self, count: Expr = ONE) -> Iterator[tuple[Expr, Line]]:
        """Yield this line and all below it, each with its number of copies in the whole model."""
        count = count * self.count
        yield count, self
        for line in self.lines:
            yield from line.counted(count)

    @property
    def name(self) -> str:
        """The last word of its key."""
        return self.key.rpartition(".")[2]

    @property
    def is_kind(self) -> bool:
        """Whether it contains the parts that only some layers of a list have."""
        return self.among is not None and self.among != self.count

    @property
    def is_common(self) -> bool:
        """Whether it contains the parts that all layers of a list have in common."""
        return self.among is not None and self.among == self.count

    def walk(self) -> Iterator[Line]:
        """Yield this line and all below it, in order."""
        yield self
        for line in self.lines:
            yield from line.walk()

    def parts(self) -> Iterator[Line]:
        """Return this line and the parts below it, without entries."""
        return (line for line in self.walk() if line.entry is None)
