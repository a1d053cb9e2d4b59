"""The final checks of a formula: fresh random points, and the limits of its validity."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from math import prod
from time import process_time

from sympy import Add, Expr, Integer, Mul, Symbol, floor

from ..catalogue.measured_model import MeasuredModel
from ..language.errors import SizeError, WitnessError
from ..language.sizes import AtMost, Condition, Divides, Excludes
from .dispatch_recorders import Rows
from .interpolation import Point
from .measured_points import frozen
from .patterns import ROW
from .row_interpolation import DRAWS, TRIES, star
from .row_samples import Samples, suspects
from .sampling import DEEP, POSITIONS, SETTLING, UNSEEN, UNSEEN_RUN, UNSEEN_SMALL, Multiples, is_optional, is_window
from .size_sensitivity import Sizes
from .trace_result import FROM, UP_TO, LengthBound, StartError

FRESH = 3  # random points that take no part in the fit and decide
FAR = (64, 16, 4)  # factors of the longest sampled length to test, largest first, as time permits
SHARE = 8  # bisection for the largest length takes several runs of that length: each gets this share of the time left
NEAR = (512, 64, 8, 2, 1)  # lengths below all sampled ones, down to a single token
# A largest length is a small multiple of a size plus a small number: blocks of a table, and its rows for padding.
MOST_TIMES, MOST_MORE = 64, 8
BEYOND = (12, 60)  # increases of a size at which its bound is tested again
DIFFERS = "at the sampled sizes the code stores something else"
REFUSES = "the code accepts no more"
OVERFLOW = "overflow"  # in torch's error for a tensor whose elements or bytes exceed a 64-bit integer
BATCH = "B"
ROWS, TOTAL = "row by row", "in all"  # how a formula and torch agree
NOTHING: Mapping[str, Symbol] = {}


class Validation:
    """Comparisons of a formula with the model at points."""

    def __init__(self, samples: Samples, sizes: Sizes, first: Point, letters: Mapping[str, Symbol]) -> None:
        self.samples, self.sizes, self.letters = samples, sizes, letters
        self.first = first  # the first point of the fit

    def agrees(self, component: MeasuredModel, point: Point, rows: Rows | None = None) -> bool:
        """Return True if every row matches: its path, its shape and its number of copies."""
        numbers = self._numbers(point)
        expected: dict[tuple[str, tuple[object, ...]], object] = defaultdict(int)
        for (path, shape), counts in component.counts.items():
            copies = counts[-1].xreplace(numbers) if counts else 1
            if copies != 0 and not (self.samples.wanted.tallied and shape and shape[0].xreplace(numbers) == 0):
                expected[path, tuple(dim.xreplace(numbers) for dim in shape)] += copies  # type: ignore[operator]
        actual: dict[tuple[str, tuple[object, ...]], object] = defaultdict(int)
        for name, shape in (self.samples.seen_rows(point) if rows is None else rows).items():
            actual[star(name), tuple(map(Integer, shape))] += 1  # type: ignore[operator]
        return dict(expected) == dict(actual) and bool(actual)

    def _numbers(self, point: Point) -> dict[Symbol, Expr]:
        return {self.letters[name]: Integer(value) for name, value in point.items() if name in self.letters}

    def predicted(self, component: MeasuredModel, point: Point) -> Expr:
        """Return the total of the rows at a point, by the formula."""
        numbers = self._numbers(point)
        each = (Mul(*shape, *counts[-1:]).xreplace(numbers) for (_, shape), counts in component.counts.items())
        return Add(*each)

    def fresh(self, component: MeasuredModel) -> list[Point]:
        """Return random points at which every row matches. Raises WitnessError if one does not, or too few build."""
        widths, counts = self.sizes.widths, self.sizes.counts
        used = set(self.samples.seen)
        floors = {each for often in component.counts.values() for count in often for each in count.atoms(floor)}
        uneven = {name for name in counts if any(each.has(self.letters[name]) for each in floors)}
        checked: list[Point] = []
        refused: Point = {}  # the first rejected point
        for turn in range(FRESH * TRIES):
            # New values; heads and groups as in the fit if the code rejects the new ones.
            by = UNSEEN_RUN if self.samples.wanted.needs_run else UNSEEN
            if OVERFLOW in self.samples.last:
                by = UNSEEN_SMALL
            if refused and turn % 2:  # positions on both sides of a token are an odd number
                by = replace(by, widths=tuple(each + each // 20 for each in by.widths))
            if turn >= FRESH * TRIES // 2:
                by = replace(by, groups=SETTLING.groups, heads=SETTLING.heads)
            points = (self._fresh(turn, by, uneven) for _ in range(DRAWS))
            point = next((each for each in points if frozen(each) not in used and self._plainly(component, each)), None)
            if point is None:
                continue
            if (decided := self.samples.decided(point)) is None:
                refused = refused or point
                continue
            used.add(frozen(point))
            rows, total = decided
            if not self.agrees(component, point, rows):
                self._kept(point, lambda at: self._found(component, at), DIFFERS)
                raise WitnessError(f"the formula found does not hold at {dict(point)}, so it is rejected")
            if total is not None and total != (summed := sum(2 * prod(row) for row in rows.values())):
                raise WitnessError(f"torch counts {total:,} at {dict(point)}, but the rows sum to {summed:,}")
            checked.append(point)
            if len(checked) == FRESH:
                return checked
        if widths or counts:
            last = self.samples.last
            self._kept(refused, lambda at: self.samples.rows(at) is not None, last)
            why = f": {last}" if last else ""
            raise WitnessError(f"only {len(checked)} fresh configs could be built to check the formula{why}")
        return checked

    def _fresh(self, turn: int, by: Multiples, uneven: Set[str]) -> Point:
        """Return a random point with sizes that the fit did not use; late turns change only some of them."""
        widths, first, random = self.sizes.widths, self.first, self.samples.random
        drawn = self.samples.draw(self.samples.origin(first), widths, by)
        if turn >= FRESH * TRIES * 2 // 3:
            drawn |= {name: first[name] for name in widths if random.random() < 0.5}
        point = {**first, **{name: drawn[name] for name in widths}, **self.samples.reach(turn)}
        for name in self.sizes.counts:
            more = first[name] * random.choice((0, 1, 2, 3)) if DEEP.search(name) else random.choice((0, 1))
            point[name] = first[name] + more + (random.choice(ROW) if name in uneven else 0)
        return point

    def _plainly(self, component: MeasuredModel, point: Point) -> bool:
        """Return True if all sizes differ, and a divisor of a product divides one of its factors.

        Code that computes G times E/A rounded down stores less if A divides only E*G.
        """
        if self.samples.coincides(point, self.sizes.widths) or not self.holds(component, point):
            return False
        numbers = self._numbers(point)

        def divided(factor: Expr, divisor: Expr) -> bool:
            terms = (term.as_coeff_Mul()[1].xreplace(numbers) for term in Add.make_args(factor))
            return all(term % divisor == 0 for term in terms)

        products = (c for c in component.conditions if isinstance(c, Divides) and isinstance(c.dividend, Mul))
        return all(any(divided(f, c.divisor.xreplace(numbers)) for f in c.dividend.args) for c in products)

    def _found(self, component: MeasuredModel, point: Point) -> bool:
        """Return True if the formula and the code accept a point and every row matches."""
        return self.holds(component, point) and self.samples.rows(point) is not None and self.agrees(component, point)

    def _kept(self, point: Point, fine: Callable[[Point], bool], why: str) -> None:
        """Raise StartError for a size whose initial value makes a point work, with all other sizes as sampled."""
        if self.samples.wanted.needs_run:
            return
        moved = [
            n for n in self.sizes.widths if n in point and is_optional(n) and point[n] != self.samples.start.get(n)
        ]
        start = {name: self.samples.start[name] for name in moved if name in self.samples.start}
        stays = next((name for name in start if fine({**point, name: start[name]})), "")
        if not stays and start and fine({**point, **start}):  # several sizes must keep their initial values
            stays = next(iter(suspects([*start], lambda free: fine({**point, **_without(start, free)}))), "")
        if stays:
            raise StartError(stays, start[stays], why)

    def at_config(self, component: MeasuredModel) -> str:
        """Compare the formula with the model at its config's own sizes and depth, at the shortest and longest lengths.

        Return ROWS or TOTAL for what agreed, or "" if the formula does not cover the config or the code rejects it.
        Raise StartError for a size that must keep its value in the config, and WitnessError if the formula differs for
        another reason.
        """
        own = self.samples.tied(self.samples.start)
        stay = {each.name: each.value for each in self.sizes.pinned}
        if own != self.samples.start or any(own.get(name) != value for name, value in stay.items()):
            return ""  # the formula's conditions exclude this config
        same = set()
        for point in self._at_lengths(own):
            if not self.holds(component, point) or (rows := self.samples.rows(point)) is None:
                continue
            if self.agrees(component, point, rows):
                same.add(ROWS)
                continue
            if not self.samples.wanted.needs_run:
                return ""  # stored parameters are compared when a config is read
            held = self.samples.wanted.held and self.samples.really(point)
            if self._sums(component, point, held or rows):
                same.add(TOTAL)
                continue
            if culprit := self._culprit(component, point):
                raise StartError(culprit, own[culprit])
            raise WitnessError(f"the formula does not hold at the config's own sizes, {dict(point)}")
        return TOTAL if TOTAL in same else ROWS if same else ""

    def _culprit(self, component: MeasuredModel, point: Point) -> str:
        """Return a non-essential size with whose sampled value the formula holds at the config, or ""."""
        first = self.first
        moved = [name for name, size in point.items() if is_optional(name) and first.get(name, size) != size]
        moved = [name for name in moved if name not in {*self.samples.lengths, BATCH}]
        moved.sort(key=is_window)  # a window longer than all lengths would hide the pattern of its layers

        def holds_with(names: Sequence[str]) -> bool:
            return self._found(component, {**point, **{name: first[name] for name in names}})

        alone = next((name for name in moved if holds_with([name])), "")
        if alone or not moved or not holds_with(moved):
            return alone
        together = suspects(moved, lambda names: holds_with([name for name in moved if name not in names]))
        return next(iter(together), "")

    def _at_lengths(self, point: Point) -> list[Point]:
        """Return a point at the shortest and the longest cache, or the point alone if the run has no cache."""
        if not self.samples.wanted.cached:
            return [point]
        draws = self.samples.draws
        return [{**point, **{n: end(draws[n]) for n in self.samples.lengths}} for end in (min, max)]

    def _sums(self, component: MeasuredModel, point: Point, rows: Rows) -> bool:
        """Return True if rows of other shapes have the same total: with two equal sizes, runs may use other shapes."""
        return bool(self.predicted(component, point) == sum(map(prod, rows.values())))

    def holds(self, component: MeasuredModel, point: Point, beside: Mapping[str, Symbol] = NOTHING) -> bool:
        """Return True if a point satisfies all known conditions on the formula's sizes and those in ``beside``."""
        letters = {**self.letters, **beside}
        numbers = {letters[name]: value for name, value in point.items() if name in letters}
        try:
            for condition in component.conditions:
                condition.check(numbers)
        except SizeError:
            return False
        return True

    def edges(self, component: MeasuredModel) -> list[Condition]:
        """Return the conditions under which a run's tensors keep their form: required multiples, and sizes above 1."""
        if not self.samples.wanted.held:
            return []
        first, letters = self.first, self.letters
        sizes = [name for name in letters if name in first and name not in (*self.samples.lengths, BATCH)]
        found: list[Condition] = []

        def takes(**changed: int) -> bool:
            return self.samples.rows({**first, **changed}) is not None

        def asks(name: str, heads: str) -> bool:
            """Return True if a size may be any multiple of the heads, but not an odd multiple of half of them."""
            one = first[heads]
            twice, odd = {heads: 2 * one}, one * (first[name] // one // 2 * 2 + 1)
            some = takes(**{name: first[name] + one}) and takes(**twice, **{name: 4 * one})
            return some and not takes(**twice, **{name: odd})

        def holds(point: Point) -> bool:
            return self.holds(replace(component, conditions=(*component.conditions, *found)), point)

        def differs(**changed: int) -> bool:
            point = {**first, **changed}
            if not holds(point) or (rows := at(point)) is None:
                return False
            return bool(self.predicted(component, point) != sum(map(prod, rows.values())))

        refused = [name for name in sizes if not takes(**{name: first[name] + 1})]
        for name in refused:
            heads = (n for n in sizes if "head" in n and n != name and first[name] % first[n] == 0)
            if holds({**first, name: first[name] + 1}) and (divisor := next((n for n in heads if asks(name, n)), "")):
                found.append(Divides(letters[divisor], letters[name], "the code accepts only such sizes"))
        for name in refused:
            even = first[name] % 2 == 0 and takes(**{name: first[name] + 2})
            if even and holds({**first, name: first[name] + 1}):
                found.append(Divides(Integer(2), letters[name], "the code accepts only such sizes"))
        # One run with as many sizes at 1 as possible: if it equals the real run, so do runs with fewer.
        ones = dict.fromkeys([BATCH] * (BATCH in letters) + [name for name in sizes if takes(**{name: 1})], 1)
        everywhere = self.samples.decided({**first, **ones})
        alike = everywhere is not None and everywhere[0] == self.samples.rows({**first, **ones})
        at = self.samples.rows if alike else self.samples.really
        single = {BATCH: 1} if BATCH in letters and not differs(**{BATCH: 1}) else {}
        for name in sizes:
            if differs(**{name: 1}):
                found.append(AtMost(Integer(2), letters[name], FROM))
            elif single and differs(**single, **{name: 1}):
                found.append(Excludes((letters[BATCH], letters[name]), "in that case the code keeps other tensors"))
        return found

    def bounds(self, component: MeasuredModel) -> list[LengthBound]:
        """Return the bounds on the lengths of a run, due to windows, blocks and tables, and on the batch size."""
        if not self.samples.wanted.needs_run:
            return []
        first, letters = self.first, self.letters
        found: list[LengthBound] = []

        def agrees(point: Point) -> bool:
            return self.samples.rows(point) is not None and self.agrees(component, point)

        def differs(point: Point) -> bool:
            """Return True if the rows differ, as they may at a size of 1 or if another run stood in for this one."""
            rows = (self.samples.really if self.samples.wanted.held else self.samples.rows)(point)
            return rows is not None and not self.agrees(component, point, rows)

        begun = process_time()
        agrees({**first, BATCH: 3 * first[BATCH]} if BATCH in first else first)
        patience = (self.samples.until - begun) / max(process_time() - begun, 1e-3) / SHARE
        times = next((each for each in FAR if each < patience), 1)  # the code may loop over the tokens
        lengths = [name for name in self.samples.lengths if name in letters]
        for name in lengths:
            found += self._longest(name, times * max(self.samples.draws[name]), agrees)
            if times < FAR[0] and not any(each.size == name for each in found):
                found.append(LengthBound(name, "", 0, times * max(self.samples.draws[name]), UP_TO))
        shortest = min((value for name in lengths for value in self.samples.draws[name]), default=0)
        least = dict.fromkeys(self.samples.lengths, shortest)
        for size in [each for each in NEAR if each < shortest]:
            same = dict.fromkeys(least, size)
            apart = {name: size + place for place, name in enumerate(least)}  # equal lengths may make rows equal
            near = next(
                (
                    each
                    for each in (same, apart)
                    if not self.holds(component, {**first, **each}) or not differs({**first, **each})
                ),
                None,
            )
            if near is None:
                break
            least = near
        found += [LengthBound(name, "", 0, least[name], FROM) for name in lengths if least[name] > 1]
        if BATCH in letters and BATCH in self.samples.draws and self._other_alone(component, differs):
            found.append(LengthBound(BATCH, "", 0, min(self.samples.draws[BATCH]), FROM))
        return found

    def _other_alone(self, component: MeasuredModel, differs: Callable[[Point], bool]) -> bool:
        """Return True if a batch of one has another total, and not only products of other shapes."""
        single = {**self.first, BATCH: 1}
        if not differs(single):
            return False
        rows = self.samples.rows(single)
        summed = not self.samples.wanted.held and rows is not None
        return not (summed and self.predicted(component, single) == sum(map(prod, (rows or {}).values())))

    def _longest(self, length: str, far: int, agrees: Callable[[Point], bool]) -> list[LengthBound]:
        """Return the bound on a length, by another size or by a number; [] if it exceeds ``far``.

        Another size is the bound if the length follows it at further values too.
        """
        first, least = self.first, min(self.samples.draws[length])
        asked = any(
            self.samples.goes({**first, length: size}) for size in (least, 1)
        )  # if not, it rejects another size

        def goes(point: Point) -> bool:
            return (not asked or self.samples.goes(point)) and agrees(point)

        def limit(point: Point) -> int:
            """Return the largest accepted length by bisection, or 0 if there is none."""
            low = next((size for size in (least, 1) if goes({**point, length: size})), 0)
            high = far if low == least else least if low else 1
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if goes({**point, length: middle}) else (low, middle)
            return low

        if goes({**first, length: far}):
            return []
        rows = (size for name, size in first.items() if POSITIONS.search(name) and size < far)
        most = next(
            (n for n in rows if not self.samples.goes({**first, length: n + 1}) and goes({**first, length: n})), 0
        )
        most = most or limit(first)
        beyond = {**first, length: most + 1}
        refused = self.samples.rows(beyond) is None or (asked and not self.samples.goes(beyond))
        why = f"{REFUSES}: {self.samples.last}" if refused else UP_TO
        for name, value in sorted(first.items(), key=lambda each: (not POSITIONS.search(each[0]), each[1] != most)):
            if name in {*self.samples.lengths, BATCH, *self.samples.ties} or DEEP.search(name) or not most:
                continue
            times, more = (most // value, 0) if most % value == 0 else (1, most - value)
            if times > MOST_TIMES or abs(more) > MOST_MORE:
                continue
            if all(
                goes({**first, name: other, length: times * other + more})
                and not goes({**first, name: other, length: times * other + more + 1})
                for other in (value + each for each in BEYOND)
            ):
                return [LengthBound(length, name, times, more, why.partition(":")[0])]
        return [LengthBound(length, "", 0, most, why)]


def _without(point: Point, names: Sequence[str]) -> dict[str, int]:
    """Return the sizes of a point except those with these names."""
    return {name: value for name, value in point.items() if name not in names}
