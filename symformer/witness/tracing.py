"""The closed form of any torch model, read off its own code by building it on the meta device at chosen sizes.

A dimension of a parameter, and the number of equal layers, is a short sum of products of sizes. Points enough to
settle each are built, and the sums solved for exactly. Then the model is built at fresh random sizes that played no
part, and every row has to be as predicted, name by name; without that there is no result.
"""

from __future__ import annotations

import re
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import combinations
from math import prod
from pathlib import Path
from random import Random
from time import monotonic, process_time
from typing import Any, TypeVar, cast

from sympy import Add, Expr, Integer, Mul, Rational, Symbol, fraction, together

from ..language.errors import SizeError, UnknownNameError, WitnessError
from ..language.sizes import AtMost, Condition, Differs, Divides, Equals, Excludes
from ..language.symbols import RANK, SYMBOLS
from ..models.model import Model
from ..models.provenance import Pinned, Place, Provenance, Reading
from .drawing import BLOCK, DEEP, POSITIONS, SETTLING, UNSEEN, UNSEEN_RUN, Multiples, usual
from .fitting import SPARE, Point, UnfitError, fit, monomial
from .measure import releases
from .points import Frozen, frozen
from .traced import STORED, Class, Traced, answerable, unrun
from .watching import Rows

SEED = 0  # of the points drawn
LIMIT = 40  # seconds of this process, however busy the machine is
FRESH = 3  # random points that play no part in the fit and decide
DEPTHS = (4, 12, 10**6)  # at most so many layers while the shapes are found: more where layers come in patterns
NOWHERE: Mapping[str, Sequence[int]] = {}
STEPS = (2, 3, 4, Fraction(1, 2), Fraction(1, 3))  # how a size is changed alone
OFF = (1, 2, 3, 4, 8, 12)  # how much more than a multiple
FAR = (64, 16, 4)  # how many times as long as the longest drawn
NEAR = (512, 64, 8, 2, 1)  # lengths
FROM, UP_TO = "the trace holds from there on", "the trace holds up to there"
REFUSES = "the code takes no more"
BATCH = "B"
OTHERS: Sequence[Callable[[int], int]] = (lambda n: 2 * n, lambda n: n + 1, lambda n: n // 2, lambda n: 3 * n)
HELD = ("activations", "kv-cache")  # tensors of a run: whether one is a copy or a view may hang on a size of 1
PRODUCT = "matrix product"
_OF = {"flops": PRODUCT, "train-flops": PRODUCT, "activations": "tensor that is kept", "kv-cache": "tensor in a cache"}
TALLIED = ("flops", "train-flops", "activations")  # the first number of such a row is how often it was seen
ALPHABET = frozenset(SYMBOLS)  # before any field becomes a symbol of its own
TRIES = 6  # draws before a point that the code refuses is given up

Said = TypeVar("Said")
Measure = Callable[[Point], Rows]
Letters = Callable[[Sequence[str]], Mapping[str, Symbol]]


class UnbuiltError(WitnessError):
    """A model that its own sizes do not build or run: there is nothing to trace."""


class OutOfTimeError(WitnessError):
    """A trace that took too long: another way to begin would not be faster."""


class UncountedError(UnfitError):
    """A number of layers that fewer layers may be the reason for."""


@dataclass(frozen=True)
class Trace:
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
class Tie:
    """What a size has to be for the code to run: a number times powers of other sizes."""

    factor: Fraction
    powers: Mapping[str, int]

    def at(self, point: Point) -> int:
        """The size at a point; 0, which no code takes, where it would not be whole."""
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


class Tracer:
    """One model's code, asked for its rows at many points."""

    def __init__(
        self,
        measure: Measure,
        start: Point,
        letters: Letters,
        *,
        quantity: str = "params",
        draws: Mapping[str, Sequence[int]] = NOWHERE,
        lengths: tuple[str, ...] = (),
        decides: Callable[[Point], tuple[Rows, int | None]] | None = None,
        depths: Sequence[int] = DEPTHS,
        limit: float = LIMIT,
        stored: Trace | None = None,
        takes: Callable[[Point], object] = lambda point: None,
        fixed: Sequence[Pinned] = (),
    ) -> None:
        self.measure, self.start, self.letters = measure, dict(start), letters
        self.takes = takes  # raises where a real run would, which has data: it is asked how far lengths go
        self.quantity, self.draws, self.limit = quantity, draws, limit
        self.decides = decides or (lambda point: (self.measure(point), None))
        self.depths = depths
        self.lengths = lengths  # the letters of how many tokens a run has
        self.random = Random(SEED)
        self.builds = 0
        self.until = process_time() + limit
        self.seen: dict[Frozen, Rows] = {}
        self.weighed: dict[Frozen, tuple[Rows, int | None]] = {}
        self.refused: dict[Frozen, tuple[str, str]] = {}
        self.last = self.line = ""
        self.kept: dict[str, Pinned] = {}  # odd sizes that no formula holds
        self.ties: dict[str, Tie] = {}  # sizes that follow others
        self.repeats: set[str] = set()  # sizes that change how often something runs and nothing else
        # What the stored weights settled holds when the model runs: what has to be what, and what nothing else can be.
        self.fixed: dict[str, Pinned] = {each.name: each for each in fixed}
        self.idle: list[str] = []  # sizes that may well change nothing
        if stored:
            self.ties = dict(stored.ties)
            self.fixed = {each.name: each for each in stored.pinned}
            known = {*stored.symbols.values(), *self.ties, *self.fixed, *self.lengths, *self.draws}
            self.idle = [name for name in self.start if name not in known]

    def rows(self, point: Point) -> Rows | None:
        """The rows at a point; None where the model's code refuses it."""
        return self._asked(self.measure, self.seen, point)

    def decided(self, point: Point) -> tuple[Rows, int | None] | None:
        """The rows of a run made for nothing else, and what torch says of their sum; None where the code refuses."""
        return self._asked(self.decides, self.weighed, point)

    def really(self, point: Point) -> Rows | None:
        """The rows of a run made for nothing else."""
        decided = self.decided(point)
        return decided and decided[0]

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
                self.line = _line(error)
                self.refused[key] = self.last, self.line
                return None
        return known[key]

    def _reach(self, turn: int) -> Point:
        """The shortest and the longest lengths in turn, then whatever is drawn."""
        ends = {name: (min(self.draws[name]), max(self.draws[name])) for name in self.lengths}
        return {name: each[turn % 3] for name, each in ends.items() if turn % 3 < 2}

    def tied(self, point: Point) -> Point:
        """A point at which every size that follows others does."""
        return {**point, **{name: tie.at(point) for name, tie in self.ties.items()}}

    # -- which are sizes -----------------------------------------------------------------------------------------

    def find(self, depth: int) -> tuple[Point, list[str], list[str], list[Pinned]]:
        """A shallow base, the widths, the counts (which change how many rows there are), and what stays a number."""
        base = dict(self.start)
        for name in base:
            if DEEP.search(name) and base[name] > depth and self.rows({**base, name: depth}):
                base[name] = depth
        rows = self.rows(base)
        if not rows:
            if self.quantity == STORED:
                raise WitnessError(f"the model cannot be built: {self.last or 'it stores no parameter'}")
            # What cannot be told without data is no fault of the model's.
            refused = WitnessError if re.search("meta|data.dependent", self.last) else UnbuiltError
            raise refused(
                f"the model cannot be run: {self.last}" if self.last else f"a run of it has no {_OF[self.quantity]}"
            )
        widths: list[str] = []
        counts: list[str] = []
        self.kept = {**self.fixed, **self.kept}
        pinned = list(self.kept.values())
        still = self._still(base, self.idle, OTHERS)
        alone = {name: self.rows({**base, name: 2 * base[name]}) for name in base if name not in still}
        still |= self._still(base, [name for name, other in alone.items() if other == rows], OTHERS[1:])
        for name, value in base.items():
            if name in self.ties or name in self.kept or name in still - {*self.lengths}:
                continue
            moved = counted = False
            for other in (change(value) for change in OTHERS):
                changed = self.rows({**base, name: other}) if other > 0 and other != value else None
                moved = moved or changed is not None
                if changed is not None and changed.keys() != rows.keys():
                    counted = True
                elif changed is not None and (changed != rows or name in self.lengths):
                    widths.append(name)
                    if self.quantity in TALLIED and all(changed[each][1:] == rows[each][1:] for each in rows):
                        self.repeats.add(name)
                    break
                if changed is not None and (DEEP.search(name) or (other != 2 * value and not counted)):
                    break
            if counted and name not in widths and (DEEP.search(name) or not self._tie(name, base)):
                counts.append(name)
            elif not moved and not self._tie(name, base):
                pinned.append(Pinned(name, value, self.last, self.line))
        self._tie_product([each.name for each in pinned if each.name not in self.kept], base)
        free = [name for tie in self.ties.values() for name in tie.powers]
        widths += [name for name in dict.fromkeys(free) if name not in (*widths, *counts)]
        pinned = [each for each in pinned if each.name not in {*self.ties, *free}]
        return base, widths, counts, pinned

    def _still(self, base: Point, names: Sequence[str], changes: Sequence[Callable[[int], int]]) -> set[str]:
        """Those of some sizes that none of these changes moves, tried all at once, and by halves where that moves."""
        rows, still = self.seen_rows(base), set(names)
        for change in changes:
            waiting = [[name for name in sorted(still) if change(base[name]) > 0]]
            while waiting:
                group = waiting.pop()
                if self.rows({**base, **{name: change(base[name]) for name in group}}) == rows:
                    continue
                if len(group) == 1:
                    still.discard(group[0])
                else:
                    waiting += [group[: len(group) // 2], group[len(group) // 2 :]]
        return still

    def _tie(self, name: str, base: Point) -> bool:
        """Whether a size changes shapes alone once another of the same value moves with it: it is that other, then."""
        rows = self.seen_rows(base)
        for other, value in base.items():
            together = {**base, other: 2 * value, name: 2 * value}
            if other == name or value != base[name] or other in {*self.ties, *self.kept}:
                continue
            alone = self.rows({**base, other: 2 * value})
            if alone is not None and alone.keys() == rows.keys():
                continue
            if (moved := self.rows(together)) is not None and moved.keys() == rows.keys() and moved != rows:
                first, second = sorted((other, name), key=lambda each: not usual(each))
                self.ties[second] = Tie(Fraction(1), {first: 1})
                return True
        return False

    def _tie_product(self, fixed: Sequence[str], base: Point) -> None:
        """Of sizes that none moves alone, one may follow the others: it is what a head's width usually does."""
        for name in sorted(fixed, key=lambda each: (usual(each), not re.search("dim|d_head", each))):
            powers = {}
            for other in fixed:
                for power in (1, -1):
                    point = {**base, other: 2 * base[other], name: int(base[name] * Fraction(2) ** power)}
                    if other != name and name not in self.ties and self.rows(point) is not None:
                        powers[other] = power
                        break
            if len(powers) > 1:
                factor = base[name] / monomial(tuple(powers.items()), base)
                self.ties[name] = Tie(factor, powers)
                return

    # -- points --------------------------------------------------------------------------------------------------

    def draw(self, base: Point, widths: Sequence[str], by: Multiples = SETTLING) -> dict[str, int]:
        """Random sizes around a base."""
        return by.draw(self.random, base, widths, self.draws, self.repeats)

    def trace(self, target: str, title: str) -> Trace:
        """The closed form. Raises WitnessError where the code is not a short sum of products, or a check fails."""
        begun = monotonic()
        refusal: WitnessError | None = None
        for depth in self.depths:
            try:
                return self._without_odd(target, title, depth, begun)
            except OutOfTimeError as error:
                raise refusal or error from None
            except UnbuiltError:
                raise
            except WitnessError as error:
                refusal = refusal or error
                shapeless = isinstance(error, UnfitError) and not isinstance(error, UncountedError)
                if shapeless or all(value <= depth for name, value in self.start.items() if DEEP.search(name)):
                    break
        raise cast(WitnessError, refusal)

    def _without_odd(self, target: str, title: str, depth: int, begun: float) -> Trace:
        """The trace with as many sizes free as can be: an odd one that no formula holds is kept at its number."""
        self.kept = {}
        while True:
            try:
                return self._trace(target, title, depth, begun)
            except UnfitError as error:
                odd = next((n for n in reversed(error.moves) if n not in ALPHABET and not usual(n)), "")
                if odd not in self.start or odd in {*self.kept, *self.draws}:
                    raise
                self.kept[odd] = Pinned(odd, self.start[odd], str(error))

    def _trace(self, target: str, title: str, depth: int, begun: float) -> Trace:
        base, widths, counts, pinned = self.find(depth)
        widths, points = self._points(base, widths, pinned)
        order = [*widths, *counts]
        letters = dict(self.letters(order))
        shapes = self._shapes(points, widths, counts, letters)
        classes: dict[str, Class] = {name: (_star(name), shape) for name, shape in shapes.items()}
        totals = self._counts(points[0], classes, counts, letters, pinned)
        every = {dim for _, shape in totals for dim in shape} | {n for group in totals.values() for n in group}
        letters = {name: symbol for name, symbol in letters.items() if name in widths or name in counts}
        stem = target.rpartition("/")[2].replace(":", "-")
        found = Traced(
            title=title, stem=stem, counts=totals, conditions=whole_conditions(every), quantity=self.quantity
        )
        checked = self._fresh(found, points, widths, counts, letters)
        loose = self._probe(found, points[0], base, [*widths, *counts], letters)
        bounds = self._bounds(replace(found, conditions=(*found.conditions, *loose)), points[0], letters)
        beside = [n for n in points[0] if usual(n) and n not in self.ties and n not in {each.name for each in pinned}]
        known = self._named([*order, *(beside if self.quantity in HELD else ())])
        edges = self._edges(replace(found, conditions=(*found.conditions, *loose)), points[0], known)
        named = self._named([*known, *(each.limit for each in bounds), *self.ties, *(each.name for each in pinned)])
        ends = [each.condition({**named, **letters}) for each in bounds]
        conditions = (*found.conditions, *loose, *edges, *ends, *self._held(pinned, named))
        used = {symbol for each in every for symbol in each.free_symbols}
        used |= {symbol for each in (*edges, *ends) for symbol in each.symbols}
        names = {symbol: name for name, symbol in named.items()}
        places = {str(symbol): names[symbol] for symbol in sorted(used, key=RANK.__getitem__)}
        component = replace(found, conditions=conditions)
        read = Reading(
            points=len(checked),
            builds=self.builds,
            seed=SEED,
            versions=releases("torch"),
            pinned=tuple(pinned),
            ties={name: str(tie) for name, tie in self.ties.items()},
        )
        provenance = Provenance(places={name: Place(place) for name, place in places.items()}, reading=read)
        return Trace(
            Model(target=target, component=component, provenance=provenance),
            places,
            tuple(pinned),
            tuple(checked),
            dict(self.ties),
            depth,
            self.builds,
            monotonic() - begun,
            letters={name: str(symbol) for name, symbol in named.items()},
        )

    def _named(self, names: Iterable[str]) -> dict[str, Symbol]:
        """The letters of sizes, of those that can have one, each as if those before it were alone."""
        named: list[str] = []
        for name in filter(None, names):
            with suppress(UnknownNameError):
                self.letters([*named, name])
                named.append(name)
        return dict(self.letters(named))

    def _held(self, pinned: Sequence[Pinned], letters: Mapping[str, Symbol]) -> list[Equals]:
        """What every size that is no symbol of the formula has to be."""
        found = []
        for each in pinned:
            if each.name in letters:
                why = f": {each.why}" if each.why else ""
                found.append(
                    Equals(letters[each.name], Integer(each.value), f"the trace kept it at {each.value:,}{why}")
                )
        for name, tie in self.ties.items():
            if {name, *tie.powers} <= letters.keys():
                found.append(Equals(letters[name], tie.expr(letters), "the trace holds with no other"))
        return found

    def _points(self, base: Point, widths: list[str], pinned: list[Pinned]) -> tuple[list[str], list[dict[str, int]]]:
        """A first random point and one with each size changed alone; a size that cannot be changed is pinned."""
        first = next((p for p in (self.draw(base, widths) for _ in range(TRIES)) if self.rows(p)), None)
        if first is None:  # something refuses to move with the rest: let each size join alone
            first = dict(base)
            joined: list[str] = []
            for name in widths:
                trial = next(
                    (
                        p
                        for p in (
                            {**first, **self.draw(base, [name]), **{n: first[n] for n in joined}} for _ in range(3)
                        )
                        if self.rows(p)
                    ),
                    None,
                )
                if trial is not None:
                    first = trial
                    joined.append(name)
        longest = {**first, **{name: max(self.draws[name]) for name in self.lengths}}
        if self.lengths and self.rows(longest):
            first = longest
        points = [first]
        moved = []
        for name in widths:
            for factor in STEPS:
                point = {**first, name: int(first[name] * factor)}
                if (rows := self.rows(point)) and rows.keys() == self.seen_rows(first).keys():
                    points.append(point)
                    moved.append(name)
                    break
            else:
                pinned.append(Pinned(name, first[name], self.last, self.line))
        return moved, points

    def seen_rows(self, point: Point) -> Rows:
        """The rows at a point that builds. Raises WitnessError."""
        rows = self.rows(point)
        if rows is None:
            raise WitnessError(f"the model's code refuses sizes that it took before: {self.last}")
        return rows

    # -- fitting -------------------------------------------------------------------------------------------------

    def _shapes(
        self, points: list[dict[str, int]], widths: Sequence[str], counts: Sequence[str], letters: Mapping[str, Symbol]
    ) -> dict[str, tuple[Expr, ...]]:
        """Each dimension of each row; outside the layers, how many there are may be in it as well."""
        alone = dict(zip(widths, points[1:], strict=True))
        deeper = {name: self.rows({**points[0], name: 2 * points[0][name]}) or {} for name in counts}
        shallow, outside = [*points], [*points]
        known: dict[tuple[object, ...], Expr] = {}

        def more(sample: list[dict[str, int]], wanted: int, moves: Sequence[str]) -> None:
            for turn in range(3 * wanted if moves else 0):
                if len({tuple(point[name] for name in moves) for point in sample}) >= wanted:
                    return
                drawn = self.draw(self._origin(points[0]), widths)
                some = {name: points[0][name] * self.random.choice((1, 2, 3, 4)) for name in moves}
                if turn % 2:  # the sizes that matter alone, where the code refuses to move all of them at once
                    drawn = some
                free = {name: drawn[name] for name in widths if name in drawn}
                depths = {name: some[name] for name in counts if name in some}
                point = {**points[0], **free, **depths, **self._reach(turn)}
                if point not in sample and self.rows(point) is not None:
                    sample.append(point)

        more(shallow, len(points) + SPARE, widths)
        found = {}
        for name, shape in self.seen_rows(points[0]).items():
            dims = []
            for axis, size in enumerate(shape):
                depths = [n for n in counts if "*" not in _star(name) and deeper[n].get(name, shape)[axis] != size]
                column = [self._dim(point, name, axis) for point in shallow]
                key = (*depths, *column[: len(points) + SPARE])
                if key not in known:
                    moves = [w for w in widths if self._dim(alone[w], name, axis) != size]
                    sample = outside if depths else shallow
                    known[key] = fit(
                        f"axis {axis} of {name}",
                        [*moves, *depths],
                        sample,
                        letters,
                        partial(self._dim, name=name, axis=axis),
                        more=partial(more, sample),
                        lengths=self.lengths,
                        blocks=[name for name in self.draws if BLOCK.search(name)],
                    )
                dims.append(known[key])
            found[name] = tuple(dims)
        return found

    def _origin(self, point: Point) -> Point:
        return {name: self.start.get(name, value) for name, value in point.items()}

    def _dim(self, point: Point, name: str, axis: int) -> int | None:
        rows = self.seen_rows(point)
        if name not in rows and self.quantity in TALLIED:  # it did not run there: no times, and of no shape
            return None if axis else 0
        if name not in rows or axis >= len(rows[name]):
            raise WitnessError(f"{name} is not the same row at other sizes, so it has no one formula")
        return rows[name][axis]

    # -- how many layers -----------------------------------------------------------------------------------------

    def _counts(
        self,
        point: Point,
        classes: Mapping[str, Class],
        counts: list[str],
        letters: Mapping[str, Symbol],
        pinned: list[Pinned],
    ) -> dict[Class, tuple[Expr, ...]]:
        """How often each class of rows stands in the model: one count for each star of its path."""
        order = list(dict.fromkeys(classes.values()))
        deep = {name: 4 * point[name] for name in counts if DEEP.search(name)}
        sample = [dict(point)]
        for name in [*deep, *(each for each in counts if each not in deep)]:
            size = point[name]
            if name in deep:
                steps = [{**point, name: size * times} for times in (2, 3, 4)]
            else:
                steps = [{**point, **deep, name: size + more} for more in (1, 2, 3)]
            try:
                steps = [each for each in steps if self.rows(each) is not None]
                for each in steps:
                    self._tally(each, order, letters)
                if not steps:
                    raise WitnessError(self.last)
            except WitnessError as error:
                if name in deep and size != self.start[name]:
                    raise
                deep.pop(name, None)
                counts.remove(name)
                pinned.append(Pinned(name, size, str(error)))
            else:
                sample += steps
        sample.append({**point, **deep})
        for first, second in combinations(counts, 2):
            sample.append(
                {**point, **deep, first: point[first] + deep.get(first, 1), second: point[second] + deep.get(second, 1)}
            )
        sample = [each for each in sample if self.rows(each) is not None]
        tallies = {frozen(at): self._tally(at, order, letters) for at in sample}
        found: dict[Class, tuple[Expr, ...]] = {}
        for row in order:
            fitted = []
            for star in range(row[0].split(".").count("*")):

                def measure(at: Point, row: Class = row, star: int = star) -> int:
                    return tallies[frozen(at)][row][star]

                moves = [] if len({measure(at) for at in sample}) == 1 else counts
                try:
                    fitted.append(fit(f"the number of {row[0]}", moves, sample, letters, measure))
                except UnfitError as error:
                    other = [name for name in counts if name not in deep]
                    if not other:
                        raise UncountedError(f"the number of {row[0]}", error.moves) from None
                    counts.remove(other[-1])
                    pinned.append(Pinned(other[-1], point[other[-1]], str(error)))
                    return self._counts(point, classes, counts, letters, pinned)
            found[row] = tuple(fitted)
        return found

    def _tally(
        self, point: Point, order: Iterable[Class], letters: Mapping[str, Symbol]
    ) -> dict[Class, tuple[int, ...]]:
        numbers = {letters[name]: Integer(value) for name, value in point.items() if name in letters}
        by_shape: dict[tuple[str, tuple[int, ...]], list[Class]] = defaultdict(list)
        for each in order:
            by_shape[each[0], tuple(int(dim.xreplace(numbers)) for dim in each[1])].append(each)
        indices: dict[Class, list[set[tuple[str, ...]]]] = {
            each: [set() for _ in range(each[0].split(".").count("*"))] for each in order
        }
        for name, shape in self.seen_rows(point).items():
            owners = by_shape.get((_star(name), shape), [])
            if len(owners) != 1:
                raise WitnessError(
                    f"{name} has the shape {list(shape)} at another depth, which "
                    + ("two formulas give" if owners else "no formula found so far gives")
                )
            numbered = tuple(word for word in name.split(".") if word.isdigit())
            for star, members in enumerate(indices[owners[0]]):
                members.add(numbered[: star + 1])
        return {each: tuple(len(members) for members in stars) for each, stars in indices.items()}

    # -- the last word -------------------------------------------------------------------------------------------

    def _agrees(self, component: Traced, point: Point, letters: Mapping[str, Symbol], rows: Rows | None = None) -> bool:
        """Whether every row, by path and shape and number of copies, is as predicted."""
        numbers = {letters[name]: Integer(value) for name, value in point.items() if name in letters}
        expected: dict[tuple[str, tuple[object, ...]], object] = defaultdict(int)
        for (path, shape), counts in component.counts.items():
            copies = counts[-1].xreplace(numbers) if counts else 1
            if copies != 0 and not (self.quantity in TALLIED and shape and shape[0].xreplace(numbers) == 0):
                expected[path, tuple(dim.xreplace(numbers) for dim in shape)] += copies  # type: ignore[operator]
        actual: dict[tuple[str, tuple[object, ...]], object] = defaultdict(int)
        for name, shape in (self.seen_rows(point) if rows is None else rows).items():
            actual[_star(name), tuple(map(Integer, shape))] += 1  # type: ignore[operator]
        return dict(expected) == dict(actual) and bool(actual)

    def _predicted(self, component: Traced, point: Point, letters: Mapping[str, Symbol]) -> Expr:
        """What the rows come to at a point, by the formula."""
        numbers = {letters[name]: Integer(value) for name, value in point.items() if name in letters}
        each = (Mul(*shape, *counts[-1:]).xreplace(numbers) for (_, shape), counts in component.counts.items())
        return Add(*each)

    def _fresh(
        self,
        component: Traced,
        points: Sequence[Point],
        widths: Sequence[str],
        counts: Sequence[str],
        letters: Mapping[str, Symbol],
    ) -> list[Point]:
        used = set(self.seen)
        checked: list[Point] = []
        for turn in range(FRESH * TRIES):
            # Values that played no part; heads and groups as before where the code refuses those.
            by = UNSEEN_RUN if self.lengths else UNSEEN
            if turn >= FRESH * TRIES // 2:
                by = replace(by, groups=SETTLING.groups, heads=SETTLING.heads)
            drawn = self.draw(self._origin(points[0]), list(widths), by)
            point = {**points[0], **{name: drawn[name] for name in widths}, **self._reach(turn)}
            for name in counts:
                more = (
                    points[0][name] * self.random.choice((0, 2, 4, 5))
                    if DEEP.search(name)
                    else self.random.choice((0, 1))
                )
                point[name] = points[0][name] + more
            if (
                self._coincides(point, widths)
                or frozen(point) in used
                or not self._holds(component, point, letters)
                or (decided := self.decided(point)) is None
            ):
                continue
            used.add(frozen(point))
            rows, total = decided
            if not self._agrees(component, point, letters, rows):
                raise WitnessError(f"the formula found does not hold at {dict(point)}, so it is not shown")
            if total is not None and total != (summed := sum(2 * prod(row) for row in rows.values())):
                raise WitnessError(f"torch counts {total:,} at {dict(point)}, and the rows come to {summed:,}")
            checked.append(point)
            if len(checked) == FRESH:
                return checked
        if widths or counts:
            raise WitnessError(f"only {len(checked)} fresh configs could be built to check the formula: {self.last}")
        return checked

    def _coincides(self, point: Point, widths: Sequence[str]) -> bool:
        """Whether two sizes that can differ happen not to: the code may ask."""
        return any(point[a] == point[b] for a, b in combinations(widths, 2) if self.start[a] != self.start[b])

    def _holds(self, component: Traced, point: Point, letters: Mapping[str, Symbol]) -> bool:
        numbers = {letters[name]: value for name, value in point.items() if name in letters}
        try:
            for condition in component.conditions:
                condition.check(numbers)
        except SizeError:
            return False
        return True

    def _probe(
        self, component: Traced, first: Point, base: Point, widths: Sequence[str], letters: Mapping[str, Symbol]
    ) -> list[Condition]:
        """Each size a little off the multiples drawn so far; where that differs, what it must be a multiple of."""
        found: list[Condition] = []

        def agrees(name: str, step: int) -> bool | None:
            """None where the point breaks a condition already known, or the code refuses it."""
            point = {**first, name: first[name] + step}
            held = replace(component, conditions=(*component.conditions, *found))
            if not self._holds(held, point, letters) or self.rows(point) is None:
                return None
            return self._agrees(component, point, letters)

        for name in widths:
            heads = [n for n in widths if "head" in n and n in first and n != name and first[n] < first[name]]
            steps = [*OFF, *sorted(first[n] for n in heads)]
            if next((each for step in steps if (each := agrees(name, step)) is not None), True):
                continue
            divisor = next((letters[n] for n in heads if agrees(name, first[n])), Integer(base[name]))
            found.append(Divides(divisor, letters[name], "the trace was checked at those only"))
        if self.lengths:  # found for the stored weights; shapes of a run meet by chance, and its sum is the same
            return found
        repeats = {size for counts in component.counts.values() for count in counts for size in count.free_symbols}
        for left, right in combinations([name for name in widths if letters[name] not in repeats], 2):
            step = first[left] - first[right]
            if step and agrees(right, step) is False:
                found.append(
                    Differs(letters[left], letters[right], "where they are the same the code does something else")
                )
        return found

    def _edges(self, component: Traced, first: Point, letters: Mapping[str, Symbol]) -> list[Condition]:
        """Where what a run holds is another thing: off the multiples that the code asks for, and where a size is 1."""
        if self.quantity not in HELD:
            return []
        sizes = [name for name in letters if name in first and name not in (*self.lengths, BATCH)]
        found: list[Condition] = []

        def runs(**changed: int) -> bool:
            return self.rows({**first, **changed}) is not None

        def asks(name: str, heads: str) -> bool:
            """Whether it may be any multiple of the heads, and of twice as many heads no odd multiple of the half."""
            one = first[heads]
            twice, odd = {heads: 2 * one}, one * (first[name] // one // 2 * 2 + 1)
            some = runs(**{name: first[name] + one}) and runs(**twice, **{name: 4 * one})
            return some and not runs(**twice, **{name: odd})

        def holds(point: Point) -> bool:
            return self._holds(replace(component, conditions=(*component.conditions, *found)), point, letters)

        def differs(**changed: int) -> bool:
            point = {**first, **changed}
            if not holds(point) or (rows := at(point)) is None:
                return False
            return bool(self._predicted(component, point, letters) != sum(map(prod, rows.values())))

        refused = [name for name in sizes if not runs(**{name: first[name] + 1})]
        for name in refused:
            heads = (n for n in sizes if "head" in n and n != name and first[name] % first[n] == 0)
            if holds({**first, name: first[name] + 1}) and (divisor := next((n for n in heads if asks(name, n)), "")):
                found.append(Divides(letters[divisor], letters[name], "the code runs with no other"))
        for name in refused:
            even = first[name] % 2 == 0 and runs(**{name: first[name] + 2})
            if even and holds({**first, name: first[name] + 1}):
                found.append(Divides(Integer(2), letters[name], "the code runs with no other"))
        # One run at which every size is 1 that can be: if it is what the real one is, so are those with fewer.
        ones = dict.fromkeys([BATCH] * (BATCH in letters) + [name for name in sizes if runs(**{name: 1})], 1)
        everywhere = self.decided({**first, **ones})
        at = self.rows if everywhere and everywhere[0] == self.rows({**first, **ones}) else self.really
        single = {BATCH: 1} if BATCH in letters and not differs(**{BATCH: 1}) else {}
        for name in sizes:
            if differs(**{name: 1}):
                found.append(AtMost(Integer(2), letters[name], FROM))
            elif single and differs(**single, **{name: 1}):
                found.append(Excludes((letters[BATCH], letters[name]), "the code then holds something else"))
        return found

    def _bounds(self, component: Traced, first: Point, letters: Mapping[str, Symbol]) -> list[Bound]:
        """How far the lengths of a run go, where windows, blocks and tables begin to tell, and a batch of one."""
        if self.quantity == STORED:
            return []
        found: list[Bound] = []

        def agrees(point: Point) -> bool:
            return self.rows(point) is not None and self._agrees(component, point, letters)

        def differs(point: Point) -> bool:
            """As it may where a size is 1, and where what stands for another run would not say so."""
            rows = (self.really if self.quantity in HELD else self.rows)(point)
            return rows is not None and not self._agrees(component, point, letters, rows)

        begun = process_time()
        agrees({**first, BATCH: 3 * first[BATCH]} if BATCH in first else first)
        patience = (self.until - begun) / max(process_time() - begun, 1e-3) / 8  # code may loop over every token
        times = next((each for each in FAR if each < patience), 1)
        for name in [name for name in self.lengths if name in letters]:
            found += self._longest(name, first, times * max(self.draws[name]), agrees)
            if times < FAR[0] and not any(each.size == name for each in found):
                found.append(Bound(name, "", 0, times * max(self.draws[name]), UP_TO))
        runs = [name for name in self.lengths if name in letters]
        least = min((value for name in runs for value in self.draws[name]), default=0)
        for size in [each for each in NEAR if each < least]:
            near = {**first, **dict.fromkeys(self.lengths, size)}
            if self._holds(component, near, letters) and differs(near):
                break
            least = size
        found += [Bound(name, "", 0, least, FROM) for name in runs if least > 1]
        single = {**first, BATCH: 1}
        if BATCH in letters and BATCH in self.draws and differs(single):
            found.append(Bound(BATCH, "", 0, min(self.draws[BATCH]), FROM))
        return found

    def _takes(self, point: Point) -> bool:
        """Whether a real run would get through."""
        try:
            self.takes(self.tied(point))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # whatever somebody's code raises
            self.last = sentence(error, 120)
            return False
        return True

    def _longest(self, length: str, first: Point, far: int, agrees: Callable[[Point], bool]) -> list[Bound]:
        """The longest that a length can be: what a size says, or else a number; nothing where it goes as far as asked.

        A size bounds a length if the length goes just so far as that size says, at other values of it too.
        """
        least = min(self.draws[length])
        asked = any(self._takes({**first, length: size}) for size in (least, 1))  # else it refuses something else

        def goes(point: Point) -> bool:
            return (not asked or self._takes(point)) and agrees(point)

        def limit(point: Point) -> int:
            """Between what it takes and what it does not: 0 where it takes none."""
            low = next((size for size in (least, 1) if goes({**point, length: size})), 0)
            high = far if low == least else least if low else 1
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if goes({**point, length: middle}) else (low, middle)
            return low

        if goes({**first, length: far}):
            return []
        rows = (size for name, size in first.items() if POSITIONS.search(name) and size < far)
        most = next((n for n in rows if not self._takes({**first, length: n + 1}) and goes({**first, length: n})), 0)
        most = most or limit(first)
        beyond = {**first, length: most + 1}
        refused = self.rows(beyond) is None or (asked and not self._takes(beyond))
        why = f"{REFUSES}: {self.last}" if refused else UP_TO
        for name, value in sorted(first.items(), key=lambda each: (not POSITIONS.search(each[0]), each[1] != most)):
            if name in {*self.lengths, BATCH, *self.ties} or DEEP.search(name) or not most:
                continue
            times, more = (most // value, 0) if most % value == 0 else (1, most - value)
            if times > 64 or abs(more) > 8:
                continue
            if all(
                goes({**first, name: other, length: times * other + more})
                and not goes({**first, name: other, length: times * other + more + 1})
                for other in (value + 12, value + 60)
            ):
                return [Bound(length, name, times, more, why.partition(":")[0])]
        return [Bound(length, "", 0, most, why)]


def sentence(error: BaseException, longest: int = 160) -> str:
    """What an error says, on one line, and without the folder that this machine keeps its packages in."""
    said = re.sub(r"/\S*/site-packages/", "", " ".join(str(error).split()))
    return f"{type(error).__name__}: {said[:longest]}"


def _line(error: BaseException) -> str:
    """Where an error was first raised: the file from its package's root, the line, its text; the model's own if any."""
    while cause := error.__cause__ or error.__context__:
        error = cause
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).is_file()]
    if not frames:
        return ""
    own = [frame for frame in frames if _from_root(frame.filename).parts[0] not in ("torch", "symformer")]
    frame = (own or frames)[-1]
    return f"{_from_root(frame.filename).as_posix()}:{frame.lineno}: {frame.line}"


def _from_root(filename: str) -> Path:
    """A file's path from the folder that its outermost package lies in."""
    root = Path(filename).parent
    while (root / "__init__.py").exists():
        root = root.parent
    return Path(filename).relative_to(root)


def _star(path: str) -> str:
    return ".".join("*" if word.isdigit() else word for word in path.split("."))


def whole_conditions(exprs: Iterable[Expr]) -> tuple[Condition, ...]:
    """What has to divide what for every shape and count to be whole, and what may not be larger than what."""
    found: dict[str, Condition] = {}
    for expr in exprs:
        above, below = fraction(together(expr))
        if below != 1:
            found[str(expr)] = Divides(below, above)
        for term in Add.make_args(expr):
            if isinstance(-term, Symbol):
                found[str(expr)] = AtMost(-term, expr - term)
    return tuple(found[key] for key in sorted(found))
