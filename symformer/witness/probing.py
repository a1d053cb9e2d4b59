"""Where a formula stops to hold: off the multiples that were drawn, where two sizes are the same, where one is small.

Each size that the formula has, and each that it has not, is tried at values that no draw takes. What comes of it is a
condition, which the formula then asks for wherever it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count, takewhile
from math import gcd, prod

from sympy import Integer, Symbol, cancel, floor

from ..catalogue.traced import Traced
from ..language.errors import WitnessError
from ..language.sizes import AtMost, Condition, Differs, Divides
from ..models.provenance import Pinned
from .checking import BATCH, Checking
from .drawing import DEEP, divides, odd, usual
from .results import FROM, UP_TO, StartError
from .samples import suspects
from .staircase import places

# How much more than a multiple: the least that is none, and such as pairs and blocks of four or eight still divide.
OFF = (1, 2, 3, 4, 8, 12)
FEW = (1, 3, 7)  # at which all sizes are tried together
SMALL = 8  # up to here a size is tried one by one, where the formula does not hold at 1
FAR = 64  # and up to here, where it does not hold there either
STEPS_TRIED = 64  # remainders, and small sizes, at which a size that is rounded is tried
DEEPER = 3  # times the layers that there usually are: so far a pattern of them is followed
DRAWN_ONLY = "the trace was checked at those only"
OTHERWISE = "at others the code stores or multiplies something else"
Named = Callable[[Sequence[str]], Mapping[str, Symbol]]


class Probing:
    """A formula that held at random points, at points that are none."""

    def __init__(self, checking: Checking, component: Traced, named: Named) -> None:
        self.checking, self.component, self.named = checking, component, named
        self.samples, self.first, self.letters = checking.samples, checking.first, checking.letters
        self.widths = checking.sizes.widths
        self.found: list[Condition] = []
        self.beside: list[str] = []  # sizes that the formula has not, and a condition has

    def conditions(self) -> list[Condition]:
        """What has to hold beside what is known."""
        held = self.samples.wanted.held  # what it comes to at the edges is told apart by what a real run holds
        self._multiples()
        if not held:
            self._unseen()
        if not held or self.samples.wanted.cached:
            self._deep()
        # found for what is stored; shapes of a run meet by chance, and its sum is the same
        if not self.samples.lengths:
            self._apart()
        if not held:
            self._steps()
            self._small()
        return self.found

    def unlike(self) -> str:
        """A size at whose own start the formula does not hold, where it does not hold where all sizes start.

        It held where another was too large or too small for the code to do what it usually does.
        """
        start = {name: self.samples.start[name] for name in self.first if name in self.samples.start}
        if self.samples.wanted.needs_run or self._like(start) is not False:
            return ""
        return next((name for name in start if not usual(name) and self._like({name: start[name]}) is False), "")

    def _like(self, changed: Mapping[str, int]) -> bool | None:
        """None where the point breaks a condition already known, or the code refuses it."""
        point = {**self.first, **changed}
        held = replace(self.component, conditions=(*self.component.conditions, *self.found))
        beside = {name: self._letter(name) for name in self.beside}
        if not self.checking.holds(held, point, beside) or (rows := self.samples.rows(point)) is None:
            return None
        if self.samples.wanted.needs_run and not self.samples.wanted.held:  # a run may do the same in other shapes
            return bool(self.checking.predicted(self.component, point) == sum(map(prod, rows.values())))
        return self.checking.agrees(self.component, point)

    def _unlike(self, name: str, size: int) -> bool:
        """Whether the formula is not known to hold where one size is another."""
        return self._like({name: size}) is not True

    def _multiples(self) -> None:
        """Each size a little off the multiples drawn so far; where that differs, what it must be a multiple of."""

        def off(names: Sequence[str]) -> bool:
            """Whether all these may be off what was drawn: each by an odd number of its own."""
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
            if divisor is None and not rounded:  # it refuses something else
                continue
            self.found.append(Divides(divisor or Integer(self._block(name)), self.letters[name], DRAWN_ONLY))

    def _asked(self, name: str) -> list[int]:
        """The numbers that have to divide what a size stands in: the code may ask for twice as many, and round down."""
        letter = self.letters[name]
        asked = (each for each in self.component.conditions if isinstance(each, Divides) and each.divisor.is_Integer)
        return sorted({int(each.divisor) for each in asked if letter in each.dividend.free_symbols})

    def _between(self, name: str) -> list[dict[str, int]]:
        """Sizes at which one is no multiple of a divisor, and its product with others still is.

        There G*E/A is whole, and code that takes G times the whole part of E/A has less.
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
            else:  # then with another of them larger, by the least that divides
                prime = next(each for each in range(2, int(below) + 1) if below % each == 0)
                more = {name: self.first[name] + int(below) // prime}
                points += [more | {names[o]: self.first[names[o]] * prime} for o in others.free_symbols if o in names]
        return points

    def _refused(self, changed: Mapping[str, int]) -> bool:
        """Whether the code refuses sizes though every condition known holds there."""
        point = {**self.first, **changed}
        held = replace(self.component, conditions=(*self.component.conditions, *self.found))
        beside = {name: self._letter(name) for name in self.beside}
        return self.checking.holds(held, point, beside) and self.samples.rows(point) is None

    def _letter(self, name: str) -> Symbol:
        """The letter of a size, which is then one that a condition has."""
        if name in self.letters:
            return self.letters[name]
        self.beside += [name] * (name not in self.beside)
        return self.named([*self.letters, *self.beside])[name]

    def _named(self, name: str) -> bool:
        """Whether a size can have a letter."""
        return name in self.letters or name in self.named([*self.letters, *self.beside, name])

    def _others(self, name: str) -> list[str]:
        """The sizes that may have to divide another, those that are called heads first."""
        drawn = {*self.samples.ties, *self.samples.lengths, *self.samples.draws, BATCH, name}
        others = [n for n in self.first if n not in drawn and 1 < self.first[n] < self.first[name]]
        return sorted(filter(self._named, others), key=lambda n: ("head" not in n, n not in self.widths))

    def _divides(self, divisor: str, name: str) -> bool:
        """Whether it is enough that one size divides another: at odd numbers that it was never drawn at."""
        other = self._foreign()
        times = self.first[name] // other + 1
        return bool(
            all(self._like({divisor: other, name: other * (times + more)}) for more in range(4))  # even, odd, fours
            and self._like({divisor: other, name: other * times + 1}) is not True
        )

    def _foreign(self) -> int:
        """The least odd number that divides no size drawn."""
        return next(n for n in count(5, 2) if all(value % n for value in self.first.values()))

    def _block(self, name: str) -> int:
        """The least number of which a size has to be a multiple: it divides the one that all draws are multiples of."""
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
        """Each pair of sizes the same, where they are not."""
        counts = self.component.counts.values()
        repeats = {size for often in counts for count in often for size in count.free_symbols}

        def same(pairs: Sequence[tuple[str, str]]) -> bool:
            return self._like({right: self.first[left] for left, right in pairs}) is True

        for pairs in matches([name for name in self.widths if self.letters[name] not in repeats]):
            for left, right in suspects([pair for pair in pairs if self.first[pair[0]] != self.first[pair[1]]], same):
                if self._like({right: self.first[left]}) is False:
                    because = "where they are the same the code does something else"
                    self.found.append(Differs(self.letters[left], self.letters[right], because))

    def _small(self) -> None:
        """Each size at 1, where code often leaves something out; where that differs, the least that it can be.

        All of them at one of a few more tell whether to ask each of it alone: the quarter of a width may come to one.
        Numbers of layers are tried among wide ones: where all widths are 1, layers of two kinds are alike.
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
                wrong += takewhile(partial(self._unlike, name), far)  # on to where it holds
                if wrong[-1:] == [FAR - 1] and (low := FAR - 1) < (high := self.first[name]):
                    while high - low > 1:  # by halves from there
                        middle = (low + high) // 2
                        low, high = (middle, high) if self._unlike(name, middle) else (low, middle)
                    wrong.append(low)
                if wrong:
                    self.found.append(AtMost(Integer(wrong[-1] + 1), self.letters[name], FROM))

    def _steps(self) -> None:
        """Each size that code rounds to whole blocks: at every remainder, and at the small sizes it may round further.

        Where only small sizes differ, the formula asks for larger ones, or for multiples of a number that its start is
        a multiple of. Raises WitnessError where a large one differs.
        """
        for name in self.widths:
            letter = self.letters[name]
            dims = {dim for _, shape in self.component.counts for dim in shape if dim.has(letter)}
            steps = {each for dim in dims for each in places(dim, letter)}
            if not steps or name in self.samples.lengths:
                continue
            start, first, wide = self.samples.start[name], self.first[name], max(wide for wide, _ in steps)
            # a run takes as long as many builds, and its widths are those that builds were tried at
            turns, tried = (
                ((1, 2, 5), STEPS_TRIED // 8) if self.samples.wanted.needs_run else (range(1, 17), STEPS_TRIED)
            )
            edges = {at + turn * each - short for each, at in steps for turn in turns for short in range(-1, 4)}
            rest = range(0, wide, max(wide // tried, 1))
            if any(self._like({name: first + more}) is False for more in {*rest, *(edge % wide for edge in edges)}):
                raise WitnessError(f"{name} is rounded between {first:,} and {first + wide:,}, and no formula says how")
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
        """Many more layers, or other copies: where a pattern of layers begins or ends, and how many layers it covers.

        A config that lists where they stand says so of no layer beyond its list. Copies that are used in turn are no
        more than what uses them, however many there are said to be: such a number stays where it starts.
        """
        floors = {each for often in self.component.counts.values() for n in often for each in n.atoms(floor)}
        for name in self.checking.sizes.counts:
            letter, start = self.letters.get(name), self.samples.start.get(name, 0)
            pattern = any(each.has(letter) for each in floors)
            low, high = self.first[name], DEEPER * max(self.first[name], start, FAR // DEEPER) + 1
            if cached := self.samples.wanted.cached:  # layers beyond the sampled depth may be of another kind
                high = max(self.first[name], start, FAR) + 1
            asks = bool(DEEP.search(name)) if cached else pattern or odd(name)
            if letter is None or not asks or self._like({name: high}) is not False:
                continue
            if odd(name) and not pattern:
                raise StartError(name, start, OTHERWISE)
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if self._like({name: middle}) is False else (middle, high)
            self.found.append(AtMost(letter, Integer(low), UP_TO))

    def _unseen(self) -> None:
        """Each size that the formula has not, at a number that divides no other, and at its half with more layers.

        Where that differs it has to divide a width, or else to stay as it is.
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

        def telling(names: Sequence[str], point: Callable[[Sequence[str]], Mapping[str, int]]) -> list[str]:
            found = suspects(names, lambda group: self._like(point(group)) is True)
            return [name for name in found if self._like(point([name])) is False]

        told = telling(names, foreign)
        if self._like(deep):
            told += telling([name for name in names if name not in told], half)
        for name in told:
            multiple = next((n for n in self.widths if n not in self.samples.draws and self._divides(name, n)), "")
            if multiple:
                self.found.append(Divides(self._letter(name), self.letters[multiple], OTHERWISE))
            else:
                start = self.samples.start[name]  # it may be smaller where it was tried
                kept = start if self._like({name: start}) else self.first[name]
                pinned.append(Pinned(name, kept, OTHERWISE))


def matches(names: Sequence[str]) -> list[list[tuple[str, str]]]:
    """Every pair of names once, in rounds in which each name stands once at most, the earlier one first."""
    ring: list[str | None] = [*names, *([None] if len(names) % 2 else [])]
    found = []
    for _ in range(len(ring) - 1):
        across = zip(ring[: len(ring) // 2], reversed(ring[len(ring) // 2 :]), strict=True)
        pairs = [(a, b) for a, b in across if a is not None and b is not None]
        found.append([(a, b) if names.index(a) < names.index(b) else (b, a) for a, b in pairs])
        ring.insert(1, ring.pop())
    return found
