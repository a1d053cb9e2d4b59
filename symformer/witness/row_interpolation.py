"""The rows of a model in symbols: every dimension and every number of copies, fitted to sufficiently many points."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations
from math import lcm

from sympy import Expr, Integer, Symbol, fraction, together

from ..catalogue.measured_model import Class
from ..language.errors import WitnessError
from ..models.provenance import Pinned
from .block_rounding import find_staircase
from .interpolation import SPARE, Point, UnfitError, fit
from .measured_points import frozen
from .patterns import ROW, layers_at_depth
from .row_samples import Samples
from .sampling import BLOCK, DEEP, divides
from .size_sensitivity import Sizes
from .trace_result import MeetingError, OutOfTimeError, UncountedError

STEPS = (2, 3, 4, Fraction(1, 2), Fraction(1, 3))  # factors for changing one size: up first, which most code accepts
TIMES = (1, 2, 3, 4)  # factors for changing sizes together
DRAWS = 12  # candidate points; the first whose sizes all differ is used
TRIES = 6  # samples before a rejected kind of point is abandoned


def first_points(samples: Samples, sizes: Sizes) -> list[dict[str, int]]:
    """Return a random first point and one with each width changed alone; pin widths that cannot be changed."""
    base, widths = sizes.base, sizes.widths
    ends = {name: max(samples.draws[name]) for name in samples.lengths}

    def apart() -> dict[str, int]:
        """Return a sample whose sizes differ from each other and from the longest lengths, if there is one."""
        drawn = (samples.draw(base, widths) for _ in range(DRAWS))
        return next(
            (each for each in drawn if not samples.coincides({**each, **ends}, widths)), samples.draw(base, widths)
        )

    first = next((p for p in (apart() for _ in range(TRIES)) if samples.rows(p)), None)
    if first is None:  # some size cannot change along with the rest: add one size at a time
        first = dict(base)
        joined: list[str] = []
        for name in widths:
            trial = next(
                (
                    p
                    for p in (
                        {**first, **samples.draw(base, [name]), **{n: first[n] for n in joined}} for _ in range(3)
                    )
                    if samples.rows(p)
                ),
                None,
            )
            if trial is not None:
                first = trial
                joined.append(name)
    longest = {**first, **ends}
    if samples.lengths and samples.rows(longest):
        first = longest
    points = [first]
    moved = []
    for name in widths:
        for factor in STEPS:
            point = {**first, name: int(first[name] * factor)}
            if (rows := samples.rows(point)) and rows.keys() == samples.seen_rows(first).keys():
                points.append(point)
                moved.append(name)
                break
        else:
            sizes.pinned.append(Pinned(name, first[name], samples.last, samples.line))
    sizes.widths = moved
    return points


class RowInterpolation:
    """The rows at a first point and at points around it, fitted one by one."""

    def __init__(
        self, samples: Samples, sizes: Sizes, points: list[dict[str, int]], letters: Mapping[str, Symbol]
    ) -> None:
        self.samples, self.sizes, self.points, self.letters = samples, sizes, points, letters

    def shapes(self) -> dict[str, tuple[Expr, ...]]:
        """Return each dimension of each row as an expression; outside the layers it may depend on their number."""
        points, widths, counts = self.points, self.sizes.widths, self.sizes.counts
        alone = dict(zip(widths, points[1:], strict=True))
        deeper = {name: self.samples.rows({**points[0], name: 2 * points[0][name]}) or {} for name in counts}
        shallow, outside = [*points], dict[tuple[str, ...], list[dict[str, int]]]()
        known: dict[tuple[object, ...], Expr] = {}

        def more(sample: list[dict[str, int]], wanted: int, moves: Sequence[str]) -> None:
            for turn in range(4 * wanted if moves else 0):
                if len({tuple(point[name] for name in moves) for point in sample}) >= wanted:
                    return
                drawn = self.samples.draw(self.samples.origin(points[0]), widths)
                times = {name: self.samples.random.choice(TIMES) for name in moves}
                if any(map(divides, moves)):  # enlarge other sizes so that these divide them
                    times = {name: each if divides(name) else each * lcm(*TIMES) for name, each in times.items()}
                some = {name: points[0][name] * each for name, each in times.items()}
                if turn % 2:  # move only the relevant sizes, because the code rejects moving all of them
                    drawn = some
                free = {name: drawn[name] for name in widths if name in drawn}
                depths = {name: some[name] for name in counts if name in some}
                point = {**points[0], **free, **depths, **self.samples.reach(turn)}
                if point in sample or self.samples.coincides(point, widths):
                    continue
                if self.samples.rows(point) is not None:
                    sample.append(point)

        more(shallow, len(points) + SPARE, widths)
        found = {}
        for name, shape in self.samples.seen_rows(points[0]).items():
            dims = []
            for axis, size in enumerate(shape):
                depths = [n for n in counts if deeper[n].get(name, shape)[axis : axis + 1] != (size,)]
                if "*" in star(name):  # in a deeper model, the layer at this index may be of another kind
                    depths = [n for n in depths if not DEEP.search(n)]
                column = [self._dim(point, name, axis) for point in shallow]
                # columns that agree at all sampled points are equal only if they also agree next to them
                near = [self._along(name, axis, w, points[0][w] + 1) for w in widths if self.samples.near]
                key = (*depths, *column[: len(points) + SPARE], *near)
                if key not in known:
                    moves = [w for w in widths if self._dim(alone[w], name, axis) != size]
                    axed = partial(self._axis, name, axis)
                    try:
                        # with one number of copies, any power of that number would fit
                        twice = [{**points[0], name: 2 * points[0][name]} for name in depths]
                        sample = outside.setdefault(tuple(depths), [*points, *twice]) if depths else shallow
                        known[key] = axed([*moves, *depths], sample, partial(more, sample))
                    except WitnessError as error:
                        if not depths or "*" not in star(name) or isinstance(error, OutOfTimeError):
                            raise
                        known[key] = axed(moves, shallow, partial(more, shallow))  # it was a layer of another kind
                dims.append(known[key])
            found[name] = tuple(dims)
        return found

    def _axis(
        self,
        name: str,
        axis: int,
        moves: Sequence[str],
        sample: list[dict[str, int]],
        more: Callable[[int, Sequence[str]], None],
    ) -> Expr:
        """Return one dimension of a row as a function of the sizes that change it."""
        try:
            found = fit(
                f"axis {axis} of {name}",
                moves,
                sample,
                self.letters,
                partial(self._dim, name=name, axis=axis),
                more=more,
                lengths=self.samples.lengths,
                blocks=[name for name in self.samples.draws if BLOCK.search(name)],
            )
        except UnfitError:
            if (rounded := self._rounded(name, axis, moves)) is None:
                raise
            return rounded
        return found if self._between(name, axis, moves, found) else self._rounded(name, axis, moves) or found

    def _along(self, name: str, axis: int, size: str, value: int) -> int | None:
        """Return one dimension of a row with one size changed, or None if the code rejects that or lacks the row."""
        rows = self.samples.rows({**self.points[0], size: value}) or {}
        return rows[name][axis] if axis < len(rows.get(name, ())) else None

    def _between(self, name: str, axis: int, moves: Sequence[str], found: Expr) -> bool:
        """Return True if a formula also holds next to the first point, which is a multiple of common block sizes."""
        if not self.samples.near or len(moves) != 1 or moves[0] in {*self.samples.lengths, *self.samples.draws}:
            return True
        value = self.points[0][moves[0]] + 1
        seen = self._along(name, axis, moves[0], value)
        return seen is None or found.xreplace({self.letters[moves[0]]: Integer(value)}) == seen

    def _rounded(self, name: str, axis: int, moves: Sequence[str]) -> Expr | None:
        """Return one dimension of a row as a step function of one size, or None."""
        if len(moves) != 1 or moves[0] not in self.points[0] or moves[0] in {*self.samples.lengths}:
            return None
        return find_staircase(
            partial(self._along, name, axis, moves[0]), self.points[0][moves[0]], self.letters[moves[0]]
        )

    def _dim(self, point: Point, name: str, axis: int) -> int | None:
        rows = self.samples.seen_rows(point)
        if name not in rows and self.samples.wanted.tallied:  # it did not run there: zero times, without a shape
            return None if axis else 0
        if name not in rows or axis >= len(rows[name]):
            raise WitnessError(f"{name} is not the same row at other sizes, so it has no single formula")
        return rows[name][axis]

    def counts(self, classes: Mapping[str, Class]) -> dict[Class, tuple[Expr, ...]]:
        """Return the number of copies of each class of rows, one factor for each star of its path."""
        point, counts, pinned = self.points[0], self.sizes.counts, self.sizes.pinned
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
                steps = [each for each in steps if self.samples.rows(each) is not None]
                for each in steps:
                    self._tally(each, order)
                if not steps:
                    raise WitnessError(self.samples.last)
            except WitnessError as error:
                if name in deep and size != self.samples.start[name]:
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
        sample = [each for each in sample if self.samples.rows(each) is not None]
        tallies = {frozen(at): self._tally(at, order) for at in sample}
        found: dict[Class, tuple[Expr, ...]] = {}
        for row in order:
            fitted = []
            for place in range(row[0].split(".").count("*")):

                def measure(at: Point, row: Class = row, place: int = place) -> int:
                    if frozen(at) not in tallies:
                        tallies[frozen(at)] = self._tally(at, order)
                    return tallies[frozen(at)][row][place]

                moves = [] if len({measure(at) for at in sample}) == 1 else counts
                try:
                    every = fit(f"the number of {row[0]}", moves, sample, self.letters, measure)
                    fitted.append(every if self._whole(every) else self._pattern(counts, sample, measure) or every)
                except UnfitError as error:
                    if (pattern := self._pattern(counts, sample, measure)) is not None:
                        fitted.append(pattern)
                        continue
                    other = [name for name in counts if name not in deep]
                    if not other:
                        raise UncountedError(f"the number of {row[0]}", error.moves) from None
                    moving = [name for name in counts if _changes(measure, name, sample, ({**point, **deep}, point))]
                    stays = ([name for name in other if name in moving] or other)[-1]
                    counts.remove(stays)
                    pinned.append(Pinned(stays, point[stays], str(UnfitError(f"the number of {row[0]}", moving))))
                    return self.counts(classes)
            found[row] = tuple(fitted)
        return found

    def _whole(self, count: Expr) -> bool:
        """Return True if a number of layers is an integer at the model's own depth."""
        start = {self.letters[name]: Integer(self.samples.start[name]) for name in self.sizes.counts}
        return any(bool(fraction(together(each))[1] == 1) for each in (count, count.xreplace(start)))

    def _pattern(self, depths: Iterable[str], sample: Sequence[Point], measure: Callable[[Point], int]) -> Expr | None:
        """Return a number of layers as a periodic function of the depth, or None if it is not one."""
        point = self.points[0]
        for name in depths:
            row = [{**point, name: point[name] + more} for more in ROW]
            try:
                found = layers_at_depth([measure(at) for at in row], point[name], self.letters[name])
            except WitnessError:  # a rejected size, or an unknown shape
                continue
            if found is not None and all(
                found.xreplace({self.letters[name]: Integer(at[name])}) == measure(at) for at in sample
            ):
                return found
        return None

    def _tally(self, point: Point, order: Iterable[Class]) -> dict[Class, tuple[int, ...]]:
        """Return the number of members of each class at a point, up to each star of its path."""
        letters = self.letters
        numbers = {letters[name]: Integer(value) for name, value in point.items() if name in letters}
        by_shape: dict[tuple[str, tuple[int, ...]], list[Class]] = defaultdict(list)
        for each in order:
            by_shape[each[0], tuple(int(dim.xreplace(numbers)) for dim in each[1])].append(each)
        indices: dict[Class, list[set[tuple[str, ...]]]] = {
            each: [set() for _ in range(each[0].split(".").count("*"))] for each in order
        }
        for name, shape in self.samples.seen_rows(point).items():
            owners = by_shape.get((star(name), shape), [])
            said = f"{name} has the shape {list(shape)} at another depth, which"
            if not owners:
                raise WitnessError(f"{said} matches no formula found so far")
            if len(owners) > 1:
                raise MeetingError(f"{said} matches two formulas")
            numbered = tuple(word for word in name.split(".") if word.isdigit())
            for place, members in enumerate(indices[owners[0]]):
                members.add(numbered[: place + 1])
        return {each: tuple(len(members) for members in places) for each, places in indices.items()}


def _changes(measure: Callable[[Point], int], name: str, sample: Sequence[Point], bases: Iterable[Point]) -> bool:
    """Return True if a measurement differs between one of the base points and a point with only one size changed."""
    return any(
        measure(at) != measure(base)
        for base in bases
        for at in sample
        if at[name] != base[name] and {**at, name: base[name]} == {**base}
    )


def star(path: str) -> str:
    """Return a path with a star for every index."""
    return ".".join("*" if word.isdigit() else word for word in path.split("."))
