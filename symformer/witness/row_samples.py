"""A model's code at the points of a trace: its rows there, or why it rejects the sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from random import Random
from time import process_time
from typing import TypeVar

from ..catalogue.measured_model import STORED
from ..language.errors import WitnessError
from .dispatch_recorders import Rows
from .error_messages import line_of, sentence
from .interpolation import Point
from .measured_points import Frozen, frozen
from .numbered_names import NumberedNames
from .sampling import SETTLING, Multiples
from .trace_result import OutOfTimeError, SizeTie

SEED = 0  # of the random points
LIMIT = 40  # CPU seconds, independent of the load of the machine
NOWHERE: Mapping[str, Sequence[int]] = {}

Said = TypeVar("Said")
Thing = TypeVar("Thing")
CountRows = Callable[[Point], Rows]
Decided = tuple[Rows, int | None]  # the rows of a dedicated run, and torch's total for them


@dataclass(frozen=True)
class TraceGoal:
    """The quantity of a trace and the meaning of its rows."""

    quantity: str = STORED
    row: str = "parameter"
    tallied: bool = False  # the first number of a row is its number of occurrences
    state: Callable[[str], bool] = lambda path: False  # True for a row of a cache that is neither keys nor values
    cached: bool = False  # rows are tensors of a cache
    held: bool = False  # rows are tensors of a run: whether one is a copy or a view may depend on a size of 1

    @property
    def needs_run(self) -> bool:
        """Whether the model has to run for the quantity."""
        return self.quantity != STORED


WEIGHTS = TraceGoal()


class Samples:
    """The rows of one quantity at points."""

    def __init__(
        self,
        measure: CountRows,
        start: Point,
        wanted: TraceGoal = WEIGHTS,
        *,
        draws: Mapping[str, Sequence[int]] = NOWHERE,
        lengths: tuple[str, ...] = (),
        decides: Callable[[Point], Decided] | None = None,
        takes: Callable[[Point], object] = lambda point: None,
        ties: Mapping[str, SizeTie] | None = None,
        limit: float = LIMIT,
        near: bool = False,
    ) -> None:
        self.measure, self.start, self.wanted = measure, dict(start), wanted
        self.draws = draws  # the values to sample for some sizes
        self.lengths = lengths  # the letters of the numbers of tokens in a run
        self.decides = decides or (lambda point: (self.measure(point), None))
        self.takes = takes  # raises if a real run, with data, would: limits how far lengths go
        self.ties = dict(ties or {})  # sizes that depend on others, at every point
        self.near = near  # also test sizes next to the sampled ones, which are multiples of common block sizes
        self.repeats: set[str] = set()  # sizes that only change how often something runs
        self.random = Random(SEED)
        self.limit, self.until = limit, process_time() + limit
        self.builds = 0
        self.seen: dict[Frozen, Rows] = {}
        self.weighed: dict[Frozen, Decided] = {}
        self.refused: dict[Frozen, tuple[str, str]] = {}
        self.numbering = NumberedNames(last=not wanted.tallied)
        self.last = self.line = ""  # the last error of the code, and where it was raised

    def rows(self, point: Point) -> Rows | None:
        """Return the rows at a point, or None if the model's code rejects it."""
        rows = self._asked(self.measure, self.seen, point)
        return rows and self.numbering.rows(rows)

    def decided(self, point: Point) -> Decided | None:
        """Return the rows of a dedicated run and torch's total for them, or None if the code rejects the point."""
        decided = self._asked(self.decides, self.weighed, point)
        return decided and (self.numbering.rows(decided[0]), decided[1])

    def really(self, point: Point) -> Rows | None:
        """Return the rows of a dedicated run."""
        decided = self.decided(point)
        return decided and decided[0]

    def seen_rows(self, point: Point) -> Rows:
        """Return the rows at a point that builds. Raises WitnessError."""
        rows = self.rows(point)
        if rows is None:
            raise WitnessError(f"the model's code rejects sizes that it accepted before: {self.last}")
        return rows

    def _asked(self, ask: Callable[[Point], Said], known: dict[Frozen, Said], point: Point) -> Said | None:
        point = self.tied(point)
        key = frozen(point)
        if key in self.refused:
            self.last, self.line = self.refused[key]
            return None
        if key not in known:
            if process_time() > self.until:
                raise OutOfTimeError(f"no formula was found in {self.limit:g} seconds and {self.builds} builds")
            self.builds += 1
            try:
                known[key] = ask(point)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # any error of the traced code, even SystemExit: there is no model here
                self.last = sentence(error, 120)
                self.line = line_of(error)
                self.refused[key] = self.last, self.line
                return None
        return known[key]

    def draw(self, base: Point, widths: Sequence[str], by: Multiples = SETTLING) -> dict[str, int]:
        """Return random sizes around a base."""
        return by.draw(self.random, base, widths, self.draws, self.repeats)

    def coincides(self, point: Point, widths: Sequence[str]) -> bool:
        """Return True if two sizes are equal by chance: code may compare them, and two shapes would be the same."""
        return any(point[a] == point[b] for a, b in combinations(widths, 2) if self.start[a] != self.start[b])

    def reach(self, turn: int) -> Point:
        """Return the shortest and the longest lengths in turn, then nothing, to keep the sampled ones."""
        ends = {name: (min(self.draws[name]), max(self.draws[name])) for name in self.lengths}
        return {name: each[turn % 3] for name, each in ends.items() if turn % 3 < 2}

    def tied(self, point: Point) -> Point:
        """Return a point with every dependent size set from the sizes that it depends on."""
        return {**point, **{name: tie.at(point) for name, tie in self.ties.items()}}

    def goes(self, point: Point) -> bool:
        """Return True if a real run would succeed."""
        try:
            self.takes(self.tied(point))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # any error of the traced code
            self.last = sentence(error, 120)
            return False
        return True

    def origin(self, point: Point) -> Point:
        """Return the initial sizes for the sizes of a point."""
        return {name: self.start.get(name, value) for name, value in point.items()}


def suspects(things: Sequence[Thing], fine: Callable[[Sequence[Thing]], bool]) -> list[Thing]:
    """Return the things that fail a test, testing them all together first and then by bisection."""
    waiting, found = [list(things)], []
    while waiting:
        group = waiting.pop()
        if not group or fine(group):
            continue
        if len(group) == 1:
            found += group
        else:
            waiting += [group[: len(group) // 2], group[len(group) // 2 :]]
    return [each for each in things if each in found]
