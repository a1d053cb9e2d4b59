"""The effect of a model's sizes on its rows: on their shapes or their number; and sizes that must follow others."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ..language.errors import WitnessError
from ..models.provenance import Pinned
from .interpolation import Point, monomial
from .row_samples import Samples, suspects
from .sampling import DEEP, is_essential
from .trace_result import SizeTie, UnbuiltError

FEWER = (1, 2, 3)  # multiples of the limit on the layers to try, fewest first
# Changes of one size: doubled first, which most code accepts; otherwise plus one, halved and tripled.
OTHERS: Sequence[Callable[[int], int]] = (lambda n: 2 * n, lambda n: n + 1, lambda n: n // 2, lambda n: 3 * n)


def distant_value(size: int) -> int:
    """Return a value that changes a width even if it is padded or has a lower bound."""
    return 96 * size + 1


@dataclass
class Sizes:
    """The effect of a model's sizes on its rows."""

    base: Point  # the sizes to start from
    widths: list[str]  # sizes that change the shapes of rows
    counts: list[str]  # sizes that change the number of rows
    pinned: list[Pinned]  # sizes fixed at a number


class SizeSensitivity:
    """Changes of a model's sizes, one by one and together."""

    def __init__(self, samples: Samples, held: Mapping[str, Pinned], inert: Sequence[str]) -> None:
        self.samples = samples
        self.held = held  # sizes that are already fixed
        self.inert = inert  # sizes that may have no effect

    def find(self, depth: int, repeated: Mapping[str, int]) -> Sizes:
        """Return the effect of the sizes, with at most ``depth`` layers, or ``repeated`` copies where given."""
        base = {**self.samples.start, **repeated}
        for name in base:
            if DEEP.search(name):  # the code may require some layers before a pattern starts
                few = (layers for layers in (depth * times for times in FEWER) if layers < base[name])
                base[name] = next((layers for layers in few if self.samples.rows({**base, name: layers})), base[name])
        rows = self.samples.rows(base)
        if not rows:
            if not self.samples.wanted.needs_run:
                raise WitnessError(f"cannot build the model: {self.samples.last or 'it stores no parameters'}")
            # A run that fails because meta tensors have no values is not an error of the model.
            said, row = self.samples.last, self.samples.wanted.row
            refused = WitnessError if re.search("meta|data.dependent", said) else UnbuiltError
            raise refused(f"cannot run the model: {said}" if said else f"a run of the model has no {row}")
        widths: list[str] = []
        counts: list[str] = []
        pinned = list(self.held.values())
        still = self._still(base, self.inert, OTHERS)
        doubled = {name: {**base, name: 2 * value} for name, value in base.items() if name not in still}
        if self.samples.numbering.learn(rows, filter(None, map(self.samples.rows, doubled.values()))):
            rows = self.samples.seen_rows(base)
        alone = {name: self.samples.rows(point) for name, point in doubled.items()}
        still |= self._still(base, [name for name, other in alone.items() if other == rows], OTHERS[1:])
        woken = still - self._still(base, sorted(still), [distant_value]) if self.samples.near else set[str]()
        still -= woken
        for name, value in base.items():
            if name in self.samples.ties or name in self.held or name in still - {*self.samples.lengths}:
                continue
            moved = counted = False
            for other in (change(value) for change in ((distant_value, *OTHERS) if name in woken else OTHERS)):
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
        """Return the sizes that change no row, tested all at once and then by bisection."""
        rows, still = self.samples.seen_rows(base), set(names)
        for change in changes:

            def alike(group: Sequence[str], change: Callable[[int], int] = change) -> bool:
                return self.samples.rows({**base, **{name: change(base[name]) for name in group}}) == rows

            still -= {*suspects([name for name in sorted(still) if change(base[name]) > 0], alike)}
        return still

    def _tie(self, name: str, base: Point) -> bool:
        """Tie a size to another of equal value if the code accepts changing only both together; return True if so."""
        rows = self.samples.seen_rows(base)
        for other, value in base.items():
            together = {**base, other: 2 * value, name: 2 * value}
            if other == name or value != base[name] or other in {*self.samples.ties, *self.held}:
                continue
            alone = self.samples.rows({**base, other: 2 * value})
            if alone is not None and alone.keys() == rows.keys():
                continue
            if (moved := self.samples.rows(together)) is not None and moved.keys() == rows.keys() and moved != rows:
                first, second = sorted((other, name), key=lambda each: not is_essential(each))
                self.samples.ties[second] = SizeTie(Fraction(1), {first: 1})
                return True
        return False

    def _tie_product(self, fixed: Sequence[str], base: Point) -> None:
        """Tie one of the sizes that cannot change alone to the others, as is usual for the head dimension.

        It may also follow a single other size, if the config states the head dimension.
        """
        single: dict[str, SizeTie] = {}
        for name in sorted(fixed, key=lambda each: (is_essential(each), not re.search("dim|d_head", each))):
            powers = {}
            for other in fixed:
                for power in (1, -1):
                    point = {**base, other: 2 * base[other], name: int(base[name] * Fraction(2) ** power)}
                    if other != name and name not in self.samples.ties and self.samples.rows(point) is not None:
                        powers[other] = power
                        break
            if powers:
                found = SizeTie(base[name] / monomial(tuple(powers.items()), base), powers)
                if len(powers) > 1:
                    self.samples.ties[name] = found
                    return
                single[name] = found
        for name, tie in single.items():
            if all(power > 0 for power in tie.powers.values()):
                self.samples.ties[name] = tie
                return
