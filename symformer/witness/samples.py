"""One model's code at the points that a trace asks it at: its rows there, or why it takes no such sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from random import Random
from time import process_time
from typing import TypeVar

from ..catalogue.traced import STORED
from ..language.errors import WitnessError
from .drawing import SETTLING, Multiples
from .fitting import Point
from .numbering import Numbering
from .points import Frozen, frozen
from .raised import line_of, sentence
from .results import OutOfTimeError, Tie
from .watching import Rows

SEED = 0  # of the points drawn
LIMIT = 40  # seconds of this process, however busy the machine is
NOWHERE: Mapping[str, Sequence[int]] = {}

Said = TypeVar("Said")
Thing = TypeVar("Thing")
CountRows = Callable[[Point], Rows]
Decided = tuple[Rows, int | None]  # the rows of a run made for nothing else, and what torch says of their sum


@dataclass(frozen=True)
class Wanted:
    """What a trace is of, and what its rows are."""

    quantity: str = STORED
    row: str = "parameter"
    tallied: bool = False  # the first number of a row is how often it was seen
    state: Callable[[str], bool] = lambda path: False  # whether a row is of a cache, and neither keys nor values
    cached: bool = False  # rows are tensors of a cache
    held: bool = False  # rows are tensors of a run: whether one is a copy or a view may hang on a size of 1

    @property
    def needs_run(self) -> bool:
        """Whether the model has to run for it."""
        return self.quantity != STORED


WEIGHTS = Wanted()


class Samples:
    """The rows of one quantity at points."""

    def __init__(
        self,
        measure: CountRows,
        start: Point,
        wanted: Wanted = WEIGHTS,
        *,
        draws: Mapping[str, Sequence[int]] = NOWHERE,
        lengths: tuple[str, ...] = (),
        decides: Callable[[Point], Decided] | None = None,
        takes: Callable[[Point], object] = lambda point: None,
        ties: Mapping[str, Tie] | None = None,
        limit: float = LIMIT,
        near: bool = False,
    ) -> None:
        self.measure, self.start, self.wanted = measure, dict(start), wanted
        self.draws = draws  # what some sizes are drawn from
        self.lengths = lengths  # the letters of how many tokens a run has
        self.decides = decides or (lambda point: (self.measure(point), None))
        self.takes = takes  # raises where a real run would, which has data: it is asked how far lengths go
        self.ties = dict(ties or {})  # sizes that follow others, at every point
        self.near = near  # whether sizes are tried next to those drawn, which are multiples of what code rounds to
        self.repeats: set[str] = set()  # sizes that change how often something runs and nothing else
        self.random = Random(SEED)
        self.limit, self.until = limit, process_time() + limit
        self.builds = 0
        self.seen: dict[Frozen, Rows] = {}
        self.weighed: dict[Frozen, Decided] = {}
        self.refused: dict[Frozen, tuple[str, str]] = {}
        self.numbering = Numbering(last=not wanted.tallied)
        self.last = self.line = ""  # what the code raised when it last refused, and where

    def rows(self, point: Point) -> Rows | None:
        """The rows at a point; None where the model's code refuses it."""
        rows = self._asked(self.measure, self.seen, point)
        return rows and self.numbering.rows(rows)

    def decided(self, point: Point) -> Decided | None:
        """The rows of a run made for nothing else, and what torch says of their sum; None where the code refuses."""
        decided = self._asked(self.decides, self.weighed, point)
        return decided and (self.numbering.rows(decided[0]), decided[1])

    def really(self, point: Point) -> Rows | None:
        """The rows of a run made for nothing else."""
        decided = self.decided(point)
        return decided and decided[0]

    def seen_rows(self, point: Point) -> Rows:
        """The rows at a point that builds. Raises WitnessError."""
        rows = self.rows(point)
        if rows is None:
            raise WitnessError(f"the model's code refuses sizes that it took before: {self.last}")
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
            except BaseException as error:  # whatever somebody's code raises, even SystemExit: the point is no model
                self.last = sentence(error, 120)
                self.line = line_of(error)
                self.refused[key] = self.last, self.line
                return None
        return known[key]

    def draw(self, base: Point, widths: Sequence[str], by: Multiples = SETTLING) -> dict[str, int]:
        """Random sizes around a base."""
        return by.draw(self.random, base, widths, self.draws, self.repeats)

    def coincides(self, point: Point, widths: Sequence[str]) -> bool:
        """Whether two sizes that can differ happen not to: the code may ask, and two shapes would be one."""
        return any(point[a] == point[b] for a, b in combinations(widths, 2) if self.start[a] != self.start[b])

    def reach(self, turn: int) -> Point:
        """The shortest and the longest lengths in turn, then whatever is drawn."""
        ends = {name: (min(self.draws[name]), max(self.draws[name])) for name in self.lengths}
        return {name: each[turn % 3] for name, each in ends.items() if turn % 3 < 2}

    def tied(self, point: Point) -> Point:
        """A point at which every size that follows others does."""
        return {**point, **{name: tie.at(point) for name, tie in self.ties.items()}}

    def goes(self, point: Point) -> bool:
        """Whether a real run would get through."""
        try:
            self.takes(self.tied(point))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # whatever somebody's code raises
            self.last = sentence(error, 120)
            return False
        return True

    def origin(self, point: Point) -> Point:
        """Where the sizes of a point started."""
        return {name: self.start.get(name, value) for name, value in point.items()}


def suspects(things: Sequence[Thing], fine: Callable[[Sequence[Thing]], bool]) -> list[Thing]:
    """Those of some things that are not fine: all are tried together, and by halves where they are not."""
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
