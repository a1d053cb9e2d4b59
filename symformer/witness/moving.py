"""Which of a model's sizes change its rows: how wide they are, or how many; and which have to follow others."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ..language.errors import WitnessError
from ..models.provenance import Pinned
from .drawing import DEEP, usual
from .fitting import Point, monomial
from .results import Tie, UnbuiltError
from .samples import Samples, suspects

# How a size is changed alone: doubled first, as most code takes that; by one, by half and thrice for what it refuses.
OTHERS: Sequence[Callable[[int], int]] = (lambda n: 2 * n, lambda n: n + 1, lambda n: n // 2, lambda n: 3 * n)


def far_from(size: int) -> int:
    """A size at which a width that is padded, or has a least value, is another than where it starts."""
    return 96 * size + 1


@dataclass
class Sizes:
    """What a model's sizes do to its rows."""

    base: Point  # where they are changed from
    widths: list[str]  # they change what the rows are
    counts: list[str]  # they change how many rows there are
    pinned: list[Pinned]  # they stay at a number


class Moving:
    """The sizes of a model, changed one by one and together."""

    def __init__(self, samples: Samples, held: Mapping[str, Pinned], idle: Sequence[str]) -> None:
        self.samples = samples
        self.held = held  # those that stay at a number already
        self.idle = idle  # those that may well change nothing

    def find(self, depth: int, repeated: Mapping[str, int]) -> Sizes:
        """What the sizes do, around a base of so many layers at most, where some start with more copies than given."""
        base = {**self.samples.start, **repeated}
        for name in base:
            if DEEP.search(name) and base[name] > depth and self.samples.rows({**base, name: depth}):
                base[name] = depth
        rows = self.samples.rows(base)
        if not rows:
            if not self.samples.wanted.needs_run:
                raise WitnessError(f"the model cannot be built: {self.samples.last or 'it stores no parameter'}")
            # What cannot be told without data is no fault of the model's.
            said, row = self.samples.last, self.samples.wanted.row
            refused = WitnessError if re.search("meta|data.dependent", said) else UnbuiltError
            raise refused(f"the model cannot be run: {said}" if said else f"a run of it has no {row}")
        widths: list[str] = []
        counts: list[str] = []
        pinned = list(self.held.values())
        still = self._still(base, self.idle, OTHERS)
        doubled = {name: {**base, name: 2 * value} for name, value in base.items() if name not in still}
        if self.samples.numbering.learn(rows, filter(None, map(self.samples.rows, doubled.values()))):
            rows = self.samples.seen_rows(base)
        alone = {name: self.samples.rows(point) for name, point in doubled.items()}
        still |= self._still(base, [name for name, other in alone.items() if other == rows], OTHERS[1:])
        woken = still - self._still(base, sorted(still), [far_from]) if self.samples.near else set[str]()
        still -= woken
        for name, value in base.items():
            if name in self.samples.ties or name in self.held or name in still - {*self.samples.lengths}:
                continue
            moved = counted = False
            for other in (change(value) for change in ((far_from, *OTHERS) if name in woken else OTHERS)):
                changed = self.samples.rows({**base, name: other}) if other > 0 and other != value else None
                moved = moved or changed is not None
                if changed is not None and changed.keys() != rows.keys():
                    counted = True
                elif changed is not None and (changed != rows or name in self.samples.lengths):
                    widths.append(name)
                    if self.samples.wanted.tallied and all(changed[each][1:] == rows[each][1:] for each in rows):
                        self.samples.repeats.add(name)
                    break
                if changed is not None and (DEEP.search(name) or (other != 2 * value and not counted)):
                    break
            if counted and name not in widths and (DEEP.search(name) or not self._tie(name, base)):
                counts.append(name)
            elif not moved and not self._tie(name, base):
                pinned.append(Pinned(name, value, self.samples.last, self.samples.line))
        self._tie_product([each.name for each in pinned if each.name not in self.held], base)
        free = [name for tie in self.samples.ties.values() for name in tie.powers]
        widths += [name for name in dict.fromkeys(free) if name not in (*widths, *counts)]
        pinned = [each for each in pinned if each.name not in {*self.samples.ties, *free}]
        return Sizes(base, widths, counts, pinned)

    def _still(self, base: Point, names: Sequence[str], changes: Sequence[Callable[[int], int]]) -> set[str]:
        """The sizes among ``names`` that change no row, tried all at once, and by halves where some row changes."""
        rows, still = self.samples.seen_rows(base), set(names)
        for change in changes:

            def alike(group: Sequence[str], change: Callable[[int], int] = change) -> bool:
                return self.samples.rows({**base, **{name: change(base[name]) for name in group}}) == rows

            still -= {*suspects([name for name in sorted(still) if change(base[name]) > 0], alike)}
        return still

    def _tie(self, name: str, base: Point) -> bool:
        """Whether a size changes shapes alone once another of the same value moves with it: it is that other, then."""
        rows = self.samples.seen_rows(base)
        for other, value in base.items():
            together = {**base, other: 2 * value, name: 2 * value}
            if other == name or value != base[name] or other in {*self.samples.ties, *self.held}:
                continue
            alone = self.samples.rows({**base, other: 2 * value})
            if alone is not None and alone.keys() == rows.keys():
                continue
            if (moved := self.samples.rows(together)) is not None and moved.keys() == rows.keys() and moved != rows:
                first, second = sorted((other, name), key=lambda each: not usual(each))
                self.samples.ties[second] = Tie(Fraction(1), {first: 1})
                return True
        return False

    def _tie_product(self, fixed: Sequence[str], base: Point) -> None:
        """Of sizes that cannot change alone, one may follow the others: it is what a head's width usually does.

        It may follow one other alone, where code says how wide a head is.
        """
        single: dict[str, Tie] = {}
        for name in sorted(fixed, key=lambda each: (usual(each), not re.search("dim|d_head", each))):
            powers = {}
            for other in fixed:
                for power in (1, -1):
                    point = {**base, other: 2 * base[other], name: int(base[name] * Fraction(2) ** power)}
                    if other != name and name not in self.samples.ties and self.samples.rows(point) is not None:
                        powers[other] = power
                        break
            if powers:
                found = Tie(base[name] / monomial(tuple(powers.items()), base), powers)
                if len(powers) > 1:
                    self.samples.ties[name] = found
                    return
                single[name] = found
        for name, tie in single.items():
            if all(power > 0 for power in tie.powers.values()):
                self.samples.ties[name] = tie
                return
