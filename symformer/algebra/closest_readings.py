"""The readings of a printed formula that come closest to ours, for a formula that agrees under none of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sympy import Add, Expr, Integer, expand, fraction, together

from ..formulas.formula import Formula
from ..language.errors import ReadingError, SizeError
from ..language.notation.text import code
from .account_terms import is_zero
from .difference_rows import exact_multiple, explains
from .name_binding import COUNT, RARER, NameBinding
from .reading_search import PrintedReading

TRIED = 12  # readings whose difference is computed
MARGIN = 2  # added rarity up to which a reading can be closer than the usual one
SHOWN = 3  # readings that are reported
TERMS = 8  # terms of a difference in an error


@dataclass(frozen=True)
class ClosestReading:
    """A reading of a printed formula, with the difference from ours."""

    reading: PrintedReading
    difference: Expr  # ours - theirs
    explained: bool  # True if an exact multiple, a single row or several rows that are left out explain the difference
    alone: bool = True  # True if every other reading that is about as usual has a longer difference

    @property
    def distance(self) -> tuple[bool, int, int]:
        """Readings with smaller values are closer: explained by one row, then more usual, then with fewer terms."""
        return (not self.explained, self.reading.rarity, self.terms)

    @property
    def terms(self) -> int:
        """The number of terms of the difference."""
        return len(Add.make_args(fraction(self.difference)[0]))

    @property
    def certain(self) -> bool:
        """Whether the formula differs for certain: the difference is explained, or no name can mean anything else."""
        guessed = [each for each in self.reading.bindings if each.guessed]
        different = len({each.expr for each in guessed}) == len(guessed)
        # A letter whose meaning our formula lacks probably means something else.
        known = different and all(each.source != RARER and (each.rarity == 0 or len(each.name) > 1) for each in guessed)
        return self.explained or (known and self.alone)

    @property
    def names(self) -> str:
        """The reading as text: ``h = E, s = S``, with the parameters that N counts in brackets."""
        said = [f"{each.name} = {each.spelt}" for each in self.reading.bindings]
        return ", ".join(said) + (f" ({self.reading.count.key})" if self.reading.count is not None else "")

    def to_json(self) -> dict[str, Any]:
        """The reading as ``check --json`` prints it."""
        readings = {each.name: each.to_json()["reading"] for each in self.reading.bindings}
        counted = None if self.reading.count is None else self.reading.count.key
        return {"readings": readings, "parameters": counted, "difference": code(self.difference)}


def difference_of(ours: Formula, theirs: Expr) -> Expr:
    """Return ours minus theirs, expanded; for a ratio, as one fraction."""
    if ours.additive:
        found = expand(ours.expanded - theirs)
        return Integer(0) if is_zero(found) else found
    above, below = fraction(together(ours.expanded - theirs))
    above = expand(above)
    return above / expand(below) if above != 0 else Integer(0)


def closest_readings(ours: Formula, readings: Sequence[PrintedReading]) -> list[ClosestReading]:
    """Return the closest readings, the closest first, with different formulas; at least one.

    Parameters
    ----------
    ours
        Our formula.
    readings
        The readings, the most usual first; the first must be valid.

    """
    found: dict[Expr, ClosestReading] = {}
    for place, each in enumerate(readings[:TRIED]):
        if each.rarity > readings[0].rarity + MARGIN:
            break
        try:
            difference = difference_of(ours, each.expr)
        except (ReadingError, SizeError):
            if place == 0:
                raise
            continue
        explained = ours.additive and (
            exact_multiple(each.expr, ours.expanded) is not None or explains(ours, difference)
        )
        found.setdefault(difference, ClosestReading(each, difference, explained))
    closest = sorted(found.values(), key=lambda each: each.distance)
    first = closest[0]
    alone = all(first.terms < each.terms for each in closest[1:] if each.reading.key != first.reading.key)
    return [replace(first, alone=alone), *closest[1:SHOWN]]


def no_agreement_error(closest: Sequence[ClosestReading]) -> ReadingError:
    """Return the error for a formula that agrees under no reading although its names can have other meanings."""
    said = "; ".join(f"with {each.names}, ours - theirs = {_short(each.difference)}" for each in closest)
    first = closest[0].reading.bindings
    doubtful = max(first, key=lambda each: _doubt(each, closest))
    stated = "params" if doubtful.expr == COUNT else code(doubtful.expr)
    return ReadingError(
        f"the formula agrees with ours under no known meaning of its letters: {said}; state the meanings, as in "
        f"--where {doubtful.name}={stated}, or name the paper with --paper"
    )


def _doubt(binding: NameBinding, closest: Sequence[ClosestReading]) -> tuple[int, ...]:
    """Return how doubtful the reading of a name is: shared with another name, or different in another reading."""
    own = closest[0].reading.bindings
    shared = sum(each.expr == binding.expr for each in own)
    others = {each.expr for one in closest for each in one.reading.bindings if each.name == binding.name}
    return (int(binding.guessed), shared, len(others), binding.rarity)


def _short(difference: Expr) -> str:
    terms = Add.make_args(difference)
    return code(difference) if len(terms) <= TERMS else f"a polynomial of {len(terms)} terms"
