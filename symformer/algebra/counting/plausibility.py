"""The plausible counts behind a published number: exact, rounded, in GiB, nominal, then under other conventions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType

from ...language.errors import joined
from ...language.printed_number import PrintedNumber
from .counting_changes import Rank
from .counting_method import CountingMethod
from .counting_variants import CountingVariant, counting_variants, plain_variant

MOST = {True: 3, False: 2}  # maximum number of changed conventions, for a number with all its digits and a rounded one
FEWEST = 2  # digits that a number needs to identify a changed convention
SHOWN = 5  # counts that an explanation shows; more identify none
NEAR = Fraction(1, 10)  # relative distance within which the matches by chance are estimated
# The expected matches by chance up to which one changed convention explains a number, by its rank. The size of the
# model and its embeddings are often left out, so a few digits are enough; the size in a name needs no test.
CHANCES: Mapping[Rank, Fraction] = MappingProxyType(
    {
        Rank.PLAIN: Fraction(1, 2),
        Rank.BINARY: Fraction(1, 2),
        Rank.NOMINAL: Fraction(1, 2),
        Rank.HEAD: Fraction(1, 2),
        Rank.KNOWN: Fraction(1, 2),
        Rank.EMBEDDINGS: Fraction(1, 2),
        Rank.FORMAT: Fraction(3, 4),
        Rank.PARTS: Fraction(1, 4),
        Rank.RARE: Fraction(1, 10),
    }
)
EXACT = Fraction(1, 10)  # the share of the counts that round to a number which are as good as exact
SEVERAL = Fraction(1, 50)  # the same for several changed conventions
BINARY = "powers of 1,024 printed as powers of 1,000"


@dataclass(frozen=True)
class PlausibleCounts:
    """The counts that match a number, the most plausible first, or the nearest count and a doubt.

    Attributes
    ----------
    own : CountingVariant
        The count with symformer's conventions.
    counts : tuple[CountingVariant, ...]
        The matching counts, the most plausible first; without a match, the nearest count alone.
    printed : PrintedNumber
        The number as read for the first count: in GB, or in GiB.
    matches : bool
        Whether the first count explains the number.
    doubt : str
        Why a matching count does not explain it.
    tried : tuple[CountingMethod, ...]
        The counts that were tried, if none matches.

    """

    own: CountingVariant
    counts: tuple[CountingVariant, ...]
    printed: PrintedNumber
    matches: bool = True
    doubt: str = ""
    tried: tuple[CountingMethod, ...] = ()


def plausible_counts(asked: PrintedNumber, supply: Iterator[CountingMethod]) -> PlausibleCounts:
    """Return the counts that match a number, the most plausible first, or the nearest count.

    Parameters
    ----------
    asked : PrintedNumber
        The number.
    supply : Iterator[CountingMethod]
        The possible counts, plain counts first; the others are built only if no plain count matches.

    """
    found: list[CountingMethod] = []
    for way in supply:
        found.append(way)
        if way.cost:
            break
    plain = [way for way in found if not way.cost]
    own = CountingVariant(found[0], (), found[0].value) if not found[0].stated else _unstated(found[0])
    best = _plainest(asked, plain)
    if best is not None and (best[1].match_kind(best[0]) == "exact" or asked.digits > FEWEST):
        return PlausibleCounts(own, (best[1],), best[0])
    formats: list[CountingMethod] = []
    for way in supply:  # the formats, which take longest, come last
        if way.rank is Rank.FORMAT:
            formats.append(way)
            break
        found.append(way)
    named = [plain_variant(way) for way in found if way.nominal]
    named = [each for each in named if asked.fits(each.value) in ("exact", "rounded")]
    named.sort(key=lambda each: asked.fits(each.value) != "exact")
    if best is not None:
        return PlausibleCounts(own, (best[1], *named)[:SHOWN], best[0])
    if named:
        return PlausibleCounts(own, tuple(named[:SHOWN]), asked)
    found += (*formats, *supply)
    if cut := next((way for way in plain if asked.fits(way.value)), None):
        level = list(counting_variants(found, 1))
        rounded = [each for each in _fitting(asked, level) if each.match_kind(asked) == "rounded"]
        return PlausibleCounts(own, (plain_variant(cut), *rounded)[:SHOWN], asked)
    binary = asked.binary if asked.digits > FEWEST else None
    if cut := next((way for way in plain if binary is not None and binary.fits(way.value)), None):
        return PlausibleCounts(own, (plain_variant(cut).said(BINARY),), binary or asked)
    return _otherwise(asked, own, found) or PlausibleCounts(
        own, (_nearest(asked, own, found),), asked, matches=False, tried=tuple(found)
    )


def _unstated(way: CountingMethod) -> CountingVariant:
    """Return a count without the changes that the printed words state."""
    whole = replace(way, stated=())
    return CountingVariant(whole, (), whole.value)


def _plainest(asked: PrintedNumber, plain: Sequence[CountingMethod]) -> tuple[PrintedNumber, CountingVariant] | None:
    """Return the plain count that is or rounds to a number, and the number as read: in GB, or in GiB.

    An exact match comes first, in GB or GiB; then a count that rounds to the number, in GB before GiB.
    """
    for taken, how in ((asked, "exact"), (asked.binary, "exact"), (asked, "rounded"), (asked.binary, "rounded")):
        for way in plain:
            if taken is not None and taken.fits(way.value) == how:
                reading = plain_variant(way)
                return taken, reading if taken is asked else reading.said(BINARY)
    return None


def _otherwise(asked: PrintedNumber, own: CountingVariant, found: Sequence[CountingMethod]) -> PlausibleCounts | None:
    """Return the counts with the fewest changed conventions that match."""
    for exactly, count in _order(asked):
        level = list(counting_variants(found, count))
        taken = asked
        fits = _fitting(taken, level, count, exactly)
        if not fits and asked.binary is not None:
            taken = asked.binary
            level = [each.said(BINARY) for each in counting_variants(found, count - 1)]
            fits = _fitting(taken, level, count)
        if fits:
            several = count - (taken is not asked and fits[0].match_kind(taken) == "exact")
            doubt = _doubt(taken, fits, level, several)
            shown = [each for each in fits if each.rank < Rank.RARE or fits[0].rank is Rank.RARE]
            return PlausibleCounts(own, tuple(shown[: 1 if doubt else SHOWN]), taken, not doubt, doubt)
    return None


def _order(asked: PrintedNumber) -> Iterator[tuple[bool, int]]:
    """Yield the search levels: exact matches before rounded ones, few changed conventions before many."""
    if asked.whole:
        yield from ((True, count) for count in range(1, MOST[True] + 1))
    if not asked.whole or asked.zeros is not None:
        yield from ((False, count) for count in range(1, MOST[False] + 1))


def _fitting(
    asked: PrintedNumber, readings: Iterable[CountingVariant], count: int = 1, exactly: bool = False
) -> list[CountingVariant]:
    """Return the readings that match a number, one for each value, the most plausible first.

    Among equally plausible readings, exact counts come first, then rounded counts. Truncated counts match only if no
    other count does, and only with another head or without the embeddings. Rare conventions are combined only exactly.
    """
    found: dict[Fraction, CountingVariant] = {}
    cut: dict[Fraction, CountingVariant] = {}
    for each in readings:
        how = asked.fits(each.value, coarsely=False)
        if (exactly and how != "exact") or (count > 1 and how != "exact" and each.rank is Rank.RARE):
            continue
        if how == "cut off":
            if count == 1 and Rank.BINARY < each.rank <= Rank.EMBEDDINGS:
                cut.setdefault(each.value, each)
        elif how:
            before = found.get(each.value)
            if before is None or each.rank < before.rank:
                found[each.value] = each
    order = ("exact", "rounded", "cut off")
    return sorted((found or cut).values(), key=lambda each: (each.rank, order.index(asked.fits(each.value))))


def _doubt(asked: PrintedNumber, fits: Sequence[CountingVariant], level: Sequence[CountingVariant], count: int) -> str:
    """Return why a match proves nothing: too many counts match, or as many as by chance. Empty for a valid match."""
    best = fits[0]
    if best.method.nominal and best.match_kind(asked) == "exact":
        return ""
    if asked.digits < FEWEST and best.match_kind(asked) != "exact":
        said = with_conventions(best.otherwise)
        return f"the count {said} matches, but too many other counts match a single digit too"
    if len(fits) > SHOWN and best.rank > Rank.EMBEDDINGS:
        examples = "; ".join(with_conventions(each.otherwise) for each in fits[:3])
        return f"{len(fits)} different counts match it ({examples}; …)"
    others = (each.value for each in level if each.rank <= best.rank)
    near = {value for value in others if abs(value - asked.value) <= NEAR * asked.value}
    width = asked.width * (EXACT if best.match_kind(asked) == "exact" else 1)
    chance = len(near) * width / (2 * NEAR * asked.value)
    if chance > (SEVERAL if count > 1 else CHANCES[best.rank]):
        return (
            f"the count {with_conventions(best.otherwise)} matches, but so many counts are close to the number that "
            f"{asked.digits} {'digits' if asked.digits != 1 else 'digit'} can match by chance"
        )
    return ""


def _nearest(asked: PrintedNumber, own: CountingVariant, found: Sequence[CountingMethod]) -> CountingVariant:
    """Return the nearest plain count, or a count with one changed convention if that is much nearer."""

    def away(each: CountingVariant) -> Fraction:
        return abs(each.value - asked.value)

    least = min(counting_variants(found, 0), key=away, default=own)
    other = min(counting_variants(found, 1), key=away, default=own)
    return other if away(other) < away(least) * NEAR else least


def with_conventions(otherwise: Sequence[str]) -> str:
    """Return the changed conventions of a count in words."""
    return f"with {joined(otherwise)}" if otherwise else "as symformer counts it"
