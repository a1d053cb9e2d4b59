"""The result of a trace: the model, the meaning of its letters, and the conditions on its sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from sympy import Expr, Integer, Mul, Rational, Symbol

from ..catalogue.measured_model import check_measurable, run_refusal
from ..language.aliases import Alias
from ..language.errors import WitnessError
from ..language.frozen import Immutable
from ..language.sizes import AtMost, Equals
from ..models.model import Model
from ..models.provenance import Pinned
from ..quantities import canonical
from .interpolation import Point, UnfitError, monomial

OTHERWISE = "the code behaves differently there than at the sampled sizes"
FROM = "the trace is not valid for smaller values"
UP_TO = "the trace is not valid for larger values"


class UnbuiltError(WitnessError):
    """A model that cannot be built or run at its own sizes, so that there is nothing to trace."""


class OutOfTimeError(WitnessError):
    """A trace that exceeded its time limit; another start would not be faster."""


class MeetingError(WitnessError):
    """Two formulas that agree at the sampled sizes but may differ at others."""


class StartError(WitnessError):
    """A formula that holds only if one of its sizes keeps its initial value."""

    def __init__(
        self, size: str, start: int, why: str = "the code behaves differently there than at the sampled sizes"
    ) -> None:
        super().__init__(f"{why}; its own value is {start}")
        self.size = size


class UncountedError(UnfitError):
    """A number of layers without a formula, possibly because too few layers were built."""


@dataclass(frozen=True)
class Trace(Immutable):
    """The result of a trace.

    Attributes
    ----------
    model
        The model with the traced formula.
    symbols
        The config field or argument of each letter.
    pinned
        The sizes that stay at a number.
    checked
        The fresh random points at which the formula was checked.
    ties
        The sizes that must equal another size or a product of others for the code to run.
    depth
        The most layers of the models that it was found with.
    builds
        The number of builds.
    seconds
        The duration of the trace.
    run
        A function that traces another quantity by running the model.
    letters
        The letters of all fields met, in the order of assignment.
    source
        The class of transformers that was traced, if any.

    """

    model: Model
    symbols: Mapping[str, str]
    pinned: tuple[Pinned, ...]
    checked: tuple[Point, ...]
    ties: Mapping[str, SizeTie]
    depth: int
    builds: int
    seconds: float
    run: Callable[[str], Trace] | None = None
    letters: Mapping[str, str] = field(default_factory=dict)
    source: Any = None

    def for_quantity(self, quantity: str) -> Trace:
        """Return the trace of a quantity, found by running the model. Raises RuleError if a run cannot measure it."""
        quantity = canonical(quantity)
        if quantity == self.quantity:
            return self
        if self.run is None:
            check_measurable(quantity)
            raise run_refusal(self.model.target, quantity)
        return self.run(quantity)

    @property
    def conditions(self) -> list[str]:
        """The conditions of the formula, except the values of pinned and tied sizes."""
        return [str(each) for each in self.model.constraints if not isinstance(each, Equals)]

    @property
    def ignored(self) -> tuple[str, ...]:
        """Switches of the config that do not affect the stored parameters, with their values."""
        reading = self.model.provenance.reading
        return reading.ignored if reading else ()

    @property
    def quantity(self) -> str:
        """The quantity of the trace; "" for a trace with identified operations."""
        return getattr(self.model.component, "quantity", "")

    @property
    def report(self) -> list[str]:
        """The operations that were identified, if any, and the quantities in which they agree with torch."""
        said: Callable[[], list[str]] = getattr(self.model.component, "report", list)
        return said()

    # Former names
    of = Alias("for_quantity")


@dataclass(frozen=True)
class SizeTie(Immutable):
    """The value that the code requires for a size: a number times powers of other sizes."""

    factor: Fraction
    powers: Mapping[str, int]

    def at(self, point: Point) -> int:
        """Return the size at a point, or 0, which no code accepts, if it is not an integer."""
        if any(power < 0 and point[name] == 0 for name, power in self.powers.items()):
            return 0
        value = self.factor * monomial(tuple(self.powers.items()), point)
        return int(value) if value.denominator == 1 else 0

    def expr(self, letters: Mapping[str, Symbol]) -> Expr:
        """Return the size in symbols."""
        powers = (letters[name] ** power for name, power in self.powers.items())
        return Rational(*self.factor.as_integer_ratio()) * Mul(*powers)

    def __str__(self) -> str:
        return str(self.expr({name: Symbol(name) for name in self.powers}))


@dataclass(frozen=True)
class LengthBound:
    """A bound on a length of a run: a multiple of another size plus a number."""

    size: str
    limit: str  # the other size; "" for a number alone
    times: int
    more: int
    why: str  # FROM for a lower bound; any other text for an upper bound

    def condition(self, letters: Mapping[str, Symbol]) -> AtMost:
        """Return the condition in symbols."""
        end = self.times * letters[self.limit] + self.more if self.limit in letters else Integer(self.more)
        return AtMost(end, letters[self.size], FROM) if self.why == FROM else AtMost(letters[self.size], end, self.why)
