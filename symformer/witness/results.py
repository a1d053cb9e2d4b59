"""What a trace finds: the model, what its letters stand for, and what its sizes are held to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from sympy import Expr, Integer, Mul, Rational, Symbol

from ..catalogue.traced import answerable, unrun
from ..language.errors import WitnessError
from ..language.frozen import Immutable
from ..language.sizes import AtMost, Equals
from ..models.model import Model
from ..models.provenance import Pinned
from .fitting import Point, UnfitError, monomial

OTHERWISE = "the code does otherwise there than at the sizes that were drawn"
FROM, UP_TO = "the trace holds from there on", "the trace holds up to there"


class UnbuiltError(WitnessError):
    """A model that its own sizes do not build or run: there is nothing to trace."""


class OutOfTimeError(WitnessError):
    """A trace that took too long: another way to begin would not be faster."""


class MeetingError(WitnessError):
    """Two formulas that give the same at the sizes drawn: at others they may not."""


class StartError(WitnessError):
    """A formula that holds where one of its sizes stays where it starts, and not where it does not."""

    def __init__(
        self, size: str, start: int, why: str = "the code does otherwise there than at the sizes drawn"
    ) -> None:
        super().__init__(f"{why}, and {start} is its own")
        self.size = size


class UncountedError(UnfitError):
    """A number of layers that fewer layers may be the reason for."""


@dataclass(frozen=True)
class Trace(Immutable):
    """What a trace found: the model, what its letters stand for, what stayed a number, and what was checked."""

    model: Model
    symbols: Mapping[str, str]  # letter -> the config field or argument
    pinned: tuple[Pinned, ...]
    checked: tuple[Point, ...]
    ties: Mapping[str, Tie]  # a size that the code runs with only where it is another, or a product of others
    depth: int  # of the models it was found with
    builds: int
    seconds: float
    run: Callable[[str], Trace] | None = None  # traces what torch does, once for each quantity
    letters: Mapping[str, str] = field(default_factory=dict)  # every field met -> its letter, in the order of choosing
    source: Any = None  # what of transformers it is the trace of

    def of(self, quantity: str) -> Trace:
        """The trace of a quantity, found by running the model. Raises RuleError where that does not give it."""
        if quantity == self.quantity:
            return self
        if self.run is None:
            answerable(quantity)
            raise unrun(self.model.target, quantity)
        return self.run(quantity)

    @property
    def conditions(self) -> list[str]:
        """Under which the formula holds, beside what the sizes pinned and tied have to be."""
        return [str(each) for each in self.model.constraints if not isinstance(each, Equals)]

    @property
    def ignored(self) -> tuple[str, ...]:
        """Switches of the config that change nothing that the class stores, with their values."""
        reading = self.model.provenance.reading
        return reading.ignored if reading else ()

    @property
    def quantity(self) -> str:
        """What it is a trace of; "" for one whose operations were recognised."""
        return getattr(self.model.component, "quantity", "")

    @property
    def report(self) -> list[str]:
        """Which operations were recognised, where some were, and what torch counts as these do."""
        said: Callable[[], list[str]] = getattr(self.model.component, "report", list)
        return said()


@dataclass(frozen=True)
class Tie(Immutable):
    """What a size has to be for the code to run: a number times powers of other sizes."""

    factor: Fraction
    powers: Mapping[str, int]

    def at(self, point: Point) -> int:
        """The size at a point; 0, which no code takes, where it would not be whole."""
        if any(power < 0 and point[name] == 0 for name, power in self.powers.items()):
            return 0
        value = self.factor * monomial(tuple(self.powers.items()), point)
        return int(value) if value.denominator == 1 else 0

    def expr(self, letters: Mapping[str, Symbol]) -> Expr:
        """The size in symbols."""
        powers = (letters[name] ** power for name, power in self.powers.items())
        return Rational(*self.factor.as_integer_ratio()) * Mul(*powers)

    def __str__(self) -> str:
        return str(self.expr({name: Symbol(name) for name in self.powers}))


@dataclass(frozen=True)
class Bound:
    """What a length of a run can be at most, or at least: so many times another size and some more."""

    size: str
    limit: str  # the other size; "" for a number alone
    times: int
    more: int
    why: str  # FROM for a length that is too short, all others for one that is too long

    def condition(self, letters: Mapping[str, Symbol]) -> AtMost:
        """The condition in symbols."""
        end = self.times * letters[self.limit] + self.more if self.limit in letters else Integer(self.more)
        return AtMost(end, letters[self.size], FROM) if self.why == FROM else AtMost(letters[self.size], end, self.why)
