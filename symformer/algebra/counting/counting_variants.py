"""Readings: counts of a model under a given number of changed conventions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

from sympy import Add, Expr, Symbol, expand

from ...language.notation.text import number
from ...language.printed_number import PrintedNumber
from ...language.sizes import substitute
from .counting_changes import CountingChange, Rank, value_at
from .counting_method import CountingMethod


@dataclass(frozen=True, eq=False)
class CountingVariant:
    """One count under some changed conventions, and its value."""

    method: CountingMethod
    changes: tuple[CountingChange, ...]
    value: Fraction

    @property
    def otherwise(self) -> tuple[str, ...]:
        """All changed conventions, in words."""
        return (*self.method.says, *(switch.says for switch in self.changes))

    @property
    def rank(self) -> Rank:
        """The rank of the least plausible convention in this reading."""
        return max((self.method.rank, *(switch.rank for switch in self.changes)))

    @property
    def sizes(self) -> Mapping[Symbol, int]:
        """The sizes that this reading changes."""
        return {size: value for switch in self.changes for size, value in switch.sizes.items()}

    def match_kind(self, asked: PrintedNumber) -> str:
        """Return how a printed number represents the value: exact, rounded or cut off."""
        return asked.fits(self.value)

    def said(self, otherwise: str) -> CountingVariant:
        """Return this reading with one more convention, which does not change the number."""
        rank = max(self.method.rank, Rank.BINARY)
        return replace(self, method=replace(self.method, says=(*self.method.says, otherwise), rank=rank))

    def change(self, plain: CountingMethod) -> Expr | None:
        """Return this count minus the plain count as a formula, or None if their units or scales differ."""
        scaled = (plain.scale, self.method.scale, *(switch.scale for switch in self.changes))
        if any(scale != 1 for scale in scaled) or plain.unit != self.method.unit:
            return None
        changed, sizes = Add(*(switch.change for switch in self.changes)), self.sizes
        own = plain.formula.display_relations
        whole = self.method.whole - plain.whole + changed
        if sizes:
            old = {size: plain.numbers[size] for size in sizes}
            at_new, at_old = substitute(self.method.whole + changed, sizes), substitute(plain.whole, old)
            return expand((at_new - at_old).xreplace({size: value for size, value in own.items() if size not in sizes}))
        return expand(whole.xreplace(own))

    def steps(self) -> str:
        """Return the arithmetic that leads from the value of the unchanged count to the value of this reading."""
        total = value_at(self.method.whole, self.method.numbers)
        said = number(total)
        numbers: Mapping[Symbol, int] = self.method.numbers
        for switch in self.changes:
            before = total
            if switch.sizes:
                numbers = {**numbers, **switch.sizes}
                done = Add(self.method.whole, *(each.change for each in self.changes[: self.changes.index(switch)]))
                total = value_at(done, numbers)
            else:
                total += value_at(switch.change, numbers)
            for part in [value_at(each, numbers) for each in switch.parts] or [total - before]:
                said += f" {'+' if part > 0 else '−'} {number(abs(part))}" if part else ""
        scale = self.method.scale
        for switch in self.changes:
            scale *= switch.scale
        if scale != 1:
            said = f"({said})" if " " in said else said
            factors = self.method.factors if scale == self.method.scale else ()
            said += "".join(f" × {number(each)}" for each in factors or [scale.numerator] if each != 1)
            said += f" / {number(scale.denominator)}" * (scale.denominator != 1)
        return said if said == number(self.value) else f"{said} = {number(self.value)}"


def counting_variants(found: Sequence[CountingMethod], count: int) -> Iterator[CountingVariant]:
    """Yield every reading with a given number of changed conventions."""
    for way in found:
        if way.cost <= count:
            yield from _variants_of(way, count - way.cost)


def plain_variant(way: CountingMethod) -> CountingVariant:
    """Return a count with only the changes that the printed words state."""
    return CountingVariant(way, way.stated, way.value)


def _variants_of(way: CountingMethod, count: int) -> Iterator[CountingVariant]:
    resized: tuple[CountingChange | None, ...] = (None, *(switch for switch in way.changes if switch.sizes))
    others = [switch for switch in way.changes if not switch.sizes]
    for size in resized:
        taken = (*way.stated, size) if size is not None else way.stated
        left = count - (size is not None)
        if left < 0:
            continue
        numbers = {**way.numbers, **(size.sizes if size is not None else {})}
        whole = value_at(Add(way.whole, *(each.change for each in way.stated)), numbers)
        changes = [value_at(switch.change, numbers) for switch in others] if left else []
        for chosen in combinations(range(len(changes)), left):
            switches = (*taken, *(others[place] for place in chosen))
            if _clash(switches):
                continue
            value = way.scale * (whole + sum((changes[place] for place in chosen), Fraction(0)))
            for switch in switches:
                value *= switch.scale
            yield CountingVariant(way, switches, value)


def _clash(switches: Sequence[CountingChange]) -> bool:
    settled = [each for switch in switches for each in switch.decides]
    return len(settled) != len(set(settled))


def value_of(way: CountingMethod, switches: Sequence[CountingChange]) -> Fraction:
    """Return the value of a count under some changed conventions."""
    numbers = {**way.numbers, **{size: value for switch in switches for size, value in switch.sizes.items()}}
    value = way.scale * value_at(Add(way.whole, *(switch.change for switch in switches)), numbers)
    for switch in switches:
        value *= switch.scale
    return value


def as_int(value: Fraction | int) -> int | Fraction:
    """Return a value as an int if it is an integer."""
    return int(value) if Fraction(value).denominator == 1 else value
