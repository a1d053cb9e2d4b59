"""The limits of a formula: sizes off the sampled multiples, equal sizes, and small sizes.

Each size, in the formula or not, is tested at values that are never sampled. If the formula fails there, it gets a
condition, which is checked on every use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count, takewhile
from math import gcd, prod

from sympy import Integer, Symbol, cancel, floor

from ..catalogue.measured_model import MeasuredModel
from ..language.errors import WitnessError
from ..language.sizes import AtMost, Condition, Differs, Divides
from ..models.provenance import Pinned
from .block_rounding import step_positions
from .row_samples import suspects
from .sampling import DEEP, divides, is_essential, is_optional
from .trace_result import FROM, UP_TO, StartError
from .validation import BATCH, Validation

# Offsets from a multiple: the smallest non-multiple, and some that pairs and blocks of four or eight still divide.
OFF = (1, 2, 3, 4, 8, 12)
FEW = (1, 3, 7)  # values at which all sizes are tested together
SMALL = 8  # a size is tested one by one up to this value if the formula does not hold at 1
FAR = 64  # and up to this value if it does not hold at SMALL either
STEPS_TRIED = 64  # number of remainders and small values at which a rounded size is tested
DEEPER = 3  # a layer pattern is tested up to this multiple of the usual depth
DRAWN_ONLY = "the trace was checked only for such sizes"
OTHERWISE = "for other values the code stores or multiplies something else"
Named = Callable[[Sequence[str]], Mapping[str, Symbol]]


class EdgeProbes:
    """Tests of a formula, which held at random points, at special points."""

    def __init__(self, checking: Validation, component: MeasuredModel, named: Named) -> None:
        self.checking, self.component, self.named = checking, component, named
        self.samples, self.first, self.letters = checking.samples, checking.first, checking.letters
        self.widths = checking.sizes.widths
        self.found: list[Condition] = []
        self.beside: list[str] = []  # sizes in a condition but not in the formula

    def conditions(self) -> list[Condition]:
        """Return the conditions to add to the known ones."""
        held = self.samples.wanted.held  # the edges of held tensors are tested against real runs instead
        self._multiples()
        if not held:
            self._unseen()
        if not held or self.samples.wanted.cached:
            self._deep()
        # only for stored parameters: in a run, shapes coincide by chance without changing the total
        if not self.samples.lengths:
            self._apart()
        if not held:
            self._steps()
            self._small()
        return self.found

    def unlike(self) -> str:
        """Return a size at whose initial value the formula fails, if it fails with all sizes at their initial values.

        The formula held when another size was too large or too small for the code's usual behavior.
        """
        start = {name: self.samples.start[name] for name in self.first if name in self.samples.start}
        if self.samples.wanted.needs_run or self._like(start) is not False:
            return ""
        return next((name for name in start if not is_essential(name) and self._like({name: start[name]}) is False), "")

    def _like(self, changed: Mapping[str, int]) -> bool | None:
        """Return True if the formula holds; None if the point violates a known condition or the code rejects it."""
        point = {**self.first, **changed}
        held = replace(self.component, conditions=(*self.component.conditions, *self.found))
        beside = {name: self._letter(name) for name in self.beside}
        if not self.checking.holds(held, point, beside) or (rows := self.samples.rows(point)) is None:
            return None
        if self.samples.wanted.needs_run and not self.samples.wanted.held:  # a run may use other shapes
            return bool(self.checking.predicted(self.component, point) == sum(map(prod, rows.values())))
        return self.checking.agrees(self.component, point)

    def _unlike(self, name: str, size: int) -> bool:
        """Return True unless the formula is known to hold with one size changed."""
        return self._like({name: size}) is not True

    def _multiples(self) -> None:
        """Test each size slightly off the sampled multiples; if the formula fails, find the required divisor."""

        def off(names: Sequence[str]) -> bool:
            """Return True if all these may be off the sampled multiples, each by a different odd number."""
            return self._like({name: self.first[name] + 2 * place + 1 for place, name in enumerate(names)}) is True

        for name in suspects(self.widths, off):
            smaller = [n for n in self.widths if n != name and self.first[n] < self.first[name]]
            steps = [*OFF, *self._asked(name), *sorted(self.first[n] for n in smaller if "head" in n)]
            told = (like for step in steps if (like := self._like({name: self.first[name] + step})) is not None)
            between = self._between(name)
            rounded = not next(told, True) or any(self._like(each) is False for each in between)
            if not rounded and not any(map(self._refused, between)):
                continue
            if whole := next((n for n in self.widths if n != name and divides(name) and self._divides(name, n)), ""):
                self.found.append(Divides(self.letters[name], self.letters[whole], DRAWN_ONLY))
                continue
            divisor = next((self._letter(n) for n in self._others(name) if self._divides(n, name)), None)
            if divisor is None and not rounded:  # the code rejects it for another reason
                continue
            self.found.append(Divides(divisor or Integer(self._block(name)), self.letters[name], DRAWN_ONLY))

    def _asked(self, name: str) -> list[int]:
        """Return the integers that must divide an expression with this size; the code may use multiples of them."""
        letter = self.letters[name]
        asked = (each for each in self.component.conditions if isinstance(each, Divides) and each.divisor.is_Integer)
        return sorted({int(each.divisor) for each in asked if letter in each.dividend.free_symbols})

    def _between(self, name: str) -> list[dict[str, int]]:
        """Return points at which a size is not a multiple of a divisor but its product with other sizes is.

        There G*E/A is an integer, but code that computes G times E/A rounded down stores less.
        """
        letter = self.letters[name]
        numbers = {symbol: Integer(self.first[each]) for each, symbol in self.letters.items() if each in self.first}
        names = {symbol: each for each, symbol in self.letters.items() if each in self.first}
        points: list[dict[str, int]] = []
        for each in self.component.conditions:
            if not isinstance(each, Divides) or letter not in each.dividend.free_symbols:
                continue
            others = cancel(each.dividend / letter)
            below, rest = each.divisor.xreplace(numbers), others.xreplace(numbers)
            if not below.is_Integer or not rest.is_Integer or below == 1 or others.is_number:
                continue
            if (common := gcd(int(below), int(rest))) > 1:
                points.append({name: self.first[name] + int(below) // common})
            else:  # enlarge another factor by the smallest prime of the divisor
                prime = next(each for each in range(2, int(below) + 1) if below % each == 0)
                more = {name: self.first[name] + int(below) // prime}
                points += [more | {names[o]: self.first[names[o]] * prime} for o in others.free_symbols if o in names]
        return points

    def _refused(self, changed: Mapping[str, int]) -> bool:
        """Return True if the code rejects sizes that satisfy every known condition."""
        point = {**self.first, **changed}
        held = replace(self.component, conditions=(*self.component.conditions, *self.found))
        beside = {name: self._letter(name) for name in self.beside}
        return self.checking.holds(held, point, beside) and self.samples.rows(point) is None

    def _letter(self, name: str) -> Symbol:
        """Return the letter of a size, and note that a condition uses it."""
        if name in self.letters:
            return self.letters[name]
        self.beside += [name] * (name not in self.beside)
        return self.named([*self.letters, *self.beside])[name]

    def _named(self, name: str) -> bool:
        """Return True if a size can have a letter."""
        return name in self.letters or name in self.named([*self.letters, *self.beside, name])

    def _others(self, name: str) -> list[str]:
        """Return the sizes that may have to divide another one, those named as heads first."""
        drawn = {*self.samples.ties, *self.samples.lengths, *self.samples.draws, BATCH, name}
        others = [n for n in self.first if n not in drawn and 1 < self.first[n] < self.first[name]]
        return sorted(filter(self._named, others), key=lambda n: ("head" not in n, n not in self.widths))

    def _divides(self, divisor: str, name: str) -> bool:
        """Return True if it suffices that one size divides another, tested at odd numbers that were never sampled."""
        other = self._foreign()
        times = self.first[name] // other + 1
        return bool(
            all(self._like({divisor: other, name: other * (times + more)}) for more in range(4))  # odd, even, fours
            and self._like({divisor: other, name: other * times + 1}) is not True
        )

    def _foreign(self) -> int:
        """Return the smallest odd number >= 5 that divides no sampled size."""
        return next(n for n in count(5, 2) if all(value % n for value in self.first.values()))

    def _block(self, name: str) -> int:
        """Return the smallest number that must divide a size; it divides the base of all samples."""
        base = self.checking.sizes.base[name]
        return (
            next(
                n
                for n in range(2, base + 1)
                if base % n == 0
                and (n == base or all(self._like({name: self.first[name] + n * more}) for more in (1, 3, 5)))
            )
            if base > 1
            else 1
        )

    def _apart(self) -> None:
        """Test each pair of sizes with equal values."""
        counts = self.component.counts.values()
        repeats = {size for often in counts for count in often for size in count.free_symbols}

        def same(pairs: Sequence[tuple[str, str]]) -> bool:
            return self._like({right: self.first[left] for left, right in pairs}) is True

        for pairs in matches([name for name in self.widths if self.letters[name] not in repeats]):
            for left, right in suspects([pair for pair in pairs if self.first[pair[0]] != self.first[pair[1]]], same):
                if self._like({right: self.first[left]}) is False:
                    because = "for equal values the code behaves differently"
                    self.found.append(Differs(self.letters[left], self.letters[right], because))

    def _small(self) -> None:
        """Test each size at 1, where code often omits something; if the formula fails, find the smallest valid size.

        All sizes are tested together at a few other values first, because a quarter of a width may become one. Depths
        are tested with large widths: at width 1, two kinds of layers would look alike.
        """
        drawn = {*self.samples.draws, BATCH}

        def ones(group: Sequence[str]) -> bool:
            return self._like(dict.fromkeys(group, 1)) is True

        for among in (self.widths, self.checking.sizes.counts):
            names = [n for n in among if n not in drawn and self.first[n] > 1 and n in self.letters]
            told = {*suspects(names, ones)}
            for size in FEW:
                if self._like(dict.fromkeys(names, size)) is False:
                    told |= {name for name in names if self._like({name: size}) is False}
            for name in (name for name in names if name in told):
                wrong = [n for n in range(1, SMALL + 1) if self._like({name: n}) is False]
                far = range(SMALL + 1, min(self.first[name], FAR) if wrong[-1:] == [SMALL] else 0)
                wrong += takewhile(partial(self._unlike, name), far)  # up to the first value where it holds
                if wrong[-1:] == [FAR - 1] and (low := FAR - 1) < (high := self.first[name]):
                    while high - low > 1:  # bisection
                        middle = (low + high) // 2
                        low, high = (middle, high) if self._unlike(name, middle) else (low, middle)
                    wrong.append(low)
                if wrong:
                    self.found.append(AtMost(Integer(wrong[-1] + 1), self.letters[name], FROM))

    def _steps(self) -> None:
        """Test each size that the code rounds to blocks, at every remainder and at small values.

        If the formula fails only at small values, require larger ones, or multiples of a divisor of the initial value.
        Raise WitnessError if it fails at a large value.
        """
        for name in self.widths:
            letter = self.letters[name]
            dims = {dim for _, shape in self.component.counts for dim in shape if dim.has(letter)}
            steps = {each for dim in dims for each in step_positions(dim, letter)}
            if not steps or name in self.samples.lengths:
                continue
            start, first, wide = self.samples.start[name], self.first[name], max(wide for wide, _ in steps)
            # a run takes as long as many builds, and the builds have tested these widths already
            turns, tried = (
                ((1, 2, 5), STEPS_TRIED // 8) if self.samples.wanted.needs_run else (range(1, 17), STEPS_TRIED)
            )
            edges = {at + turn * each - short for each, at in steps for turn in turns for short in range(-1, 4)}
            rest = range(0, wide, max(wide // tried, 1))
            if any(self._like({name: first + more}) is False for more in {*rest, *(edge % wide for edge in edges)}):
                raise WitnessError(
                    f"{name} is rounded between {first:,} and {first + wide:,} in a way that no formula describes"
                )
            small = sorted(
                size for size in {*range(1, STEPS_TRIED + 1), *range(1, 2 * wide), *edges} if 0 < size < first
            )
            wrong = [size for size in small if self._like({name: size}) is False]
            if not wrong:
                continue
            blocks = (n for n in range(2, start + 1) if start % n == 0 and all(size % n for size in wrong))
            if start < wrong[-1] and (block := next(blocks, 0)):
                self.found.append(Divides(Integer(block), letter, DRAWN_ONLY))
            else:
                self.found.append(AtMost(Integer(wrong[-1] + 1), letter, FROM))

    def _deep(self) -> None:
        """Test many layers or copies: find where a pattern of layers starts or ends, and how many layers it covers.

        A list of layer positions in a config does not cover layers beyond its end. A number of copies that are used in
        turn, such as shared blocks, has no effect beyond the number of their uses; it keeps its initial value.
        """
        floors = {each for often in self.component.counts.values() for n in often for each in n.atoms(floor)}
        for name in self.checking.sizes.counts:
            letter, start = self.letters.get(name), self.samples.start.get(name, 0)
            pattern = any(each.has(letter) for each in floors)
            low, high = self.first[name], DEEPER * max(self.first[name], start, FAR // DEEPER) + 1
            if cached := self.samples.wanted.cached:  # layers beyond the sampled depth may be of another kind
                high = max(self.first[name], start, FAR) + 1
            asks = bool(DEEP.search(name)) if cached else pattern or is_optional(name)
            if letter is None or not asks or self._like({name: high}) is not False:
                continue
            if is_optional(name) and not pattern:
                raise StartError(name, start, OTHERWISE)
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if self._like({name: middle}) is False else (middle, high)
            self.found.append(AtMost(letter, Integer(low), UP_TO))

    def _unseen(self) -> None:
        """Test each size outside the formula, at a number that divides no other size, at half and at twice its value.

        The last two use more layers, because a period has no effect on fewer layers than itself. If the formula
        fails, the size must divide a width or keep its value.
        """
        pinned = self.checking.sizes.pinned
        known = {*self.letters, *self.samples.ties, *self.samples.draws, *(each.name for each in pinned), BATCH}
        names = [n for n in self.first if n not in known and self._named(n)]
        other = self._foreign()
        deep = {name: 3 * self.first[name] for name in self.checking.sizes.counts if DEEP.search(name)}

        def foreign(group: Sequence[str]) -> dict[str, int]:
            return dict.fromkeys(group, other)

        def half(group: Sequence[str]) -> dict[str, int]:
            return {**deep, **{name: max(self.first[name] // 2, 1) for name in group}}

        def twice(group: Sequence[str]) -> dict[str, int]:
            return {**deep, **{name: 2 * self.first[name] for name in group}}

        def telling(names: Sequence[str], point: Callable[[Sequence[str]], Mapping[str, int]]) -> list[str]:
            found = suspects(names, lambda group: self._like(point(group)) is True)
            return [name for name in found if self._like(point([name])) is False]

        told = telling(names, foreign)
        if self._like(deep):
            for point in (half, twice):
                told += telling([name for name in names if name not in told], point)
        for name in told:
            multiple = next((n for n in self.widths if n not in self.samples.draws and self._divides(name, n)), "")
            if multiple:
                self.found.append(Divides(self._letter(name), self.letters[multiple], OTHERWISE))
            else:
                start = self.samples.start[name]  # the tested value may be smaller
                kept = start if self._like({name: start}) else self.first[name]
                pinned.append(Pinned(name, kept, OTHERWISE))


def matches(names: Sequence[str]) -> list[list[tuple[str, str]]]:
    """Return every pair of names once, in rounds that use each name at most once, each pair in the given order."""
    ring: list[str | None] = [*names, *([None] if len(names) % 2 else [])]
    found = []
    for _ in range(len(ring) - 1):
        across = zip(ring[: len(ring) // 2], reversed(ring[len(ring) // 2 :]), strict=True)
        pairs = [(a, b) for a, b in across if a is not None and b is not None]
        found.append([(a, b) if names.index(a) < names.index(b) else (b, a) for a, b in pairs])
        ring.insert(1, ring.pop())
    return found
