"""One count of a model: a formula with numbers, in a unit, and its alternative conventions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from sympy import Add, Expr, Integer, Symbol

from ...formulas.formula import Formula
from ...formulas.ratio import Ratio
from ...language.errors import SizeError, needs_values
from ...language.frozen import Immutable
from ...models.model import Model
from .counting_changes import CountingChange, Rank, value_at


@dataclass(frozen=True, eq=False)
class CountingMethod(Immutable):
    """One count: a formula with numbers, in a unit, and its alternative conventions."""

    counts: str  # "the number of parameters"
    formula: Formula
    numbers: Mapping[Symbol, int]
    model: Model | None = None  # the model, for a count of parameters
    scale: Fraction = Fraction(1)
    factors: tuple[int, ...] = ()  # the factors of the scale, if its arithmetic shows them one by one
    says: tuple[str, ...] = ()  # the conventions that already differ from symformer's count
    made: Callable[[], Sequence[CountingChange]] = tuple  # returns the alternative conventions, computed on demand
    unit: str = "elements"
    rank: Rank = Rank.PLAIN
    nominal: int = 0  # the parameters stated in the name of the model, if used
    stated: tuple[CountingChange, ...] = ()  # the changes that the printed words state, such as "non-embedding"

    @property
    def cost(self) -> int:
        """The number of conventions that already differ."""
        return len(self.says)

    @cached_property
    def changes(self) -> tuple[CountingChange, ...]:
        """The alternative conventions."""
        return tuple(self.made())

    @cached_property
    def whole(self) -> Expr:
        """The formula without substituted relations, so that each size can change alone."""
        if self.nominal:
            return Integer(self.nominal)
        above = self.formula.root.each
        return above / self.formula.denominator.root.each if isinstance(self.formula, Ratio) else above

    @cached_property
    def value(self) -> Fraction:
        """The exact value of the count, with the changes that the printed words state."""
        return self.scale * value_at(Add(self.whole, *(each.change for each in self.stated)), self.numbers)


def numbers_of_model(model: Model, formula: Formula) -> Mapping[Symbol, int]:
    if lacking := [size for size in formula.symbols if size not in model.known]:
        raise SizeError(needs_values(formula.id, lacking, before="name a preset, or "))
    formula.value()  # checks every condition
    return model.known
