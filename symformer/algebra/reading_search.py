"""The readings of a printed formula: every assignment of its names to sizes of the target, the most usual first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from sympy import Expr, Mul, Pow, Symbol, cancel, expand

from ..formulas.formula import Formula
from ..language.errors import ReadingError, listed, quoted
from ..language.parsing.equation import ParsedEquation
from ..language.parsing.name_tokens import name_symbol
from ..language.symbols import is_size, letter
from .account_terms import Point, fingerprint
from .name_binding import COUNT, NameBinding, check_length, substitute_names
from .parameter_counts import ParameterCount

MAX_READINGS = 2_000  # assignments that are tried
MAX_RARITY = 8  # total rarity of the readings in an assignment
SHARED = 2  # added rarity for two names with the same reading


@dataclass(frozen=True)
class PrintedReading:
    """A printed formula under one assignment of its names, and one meaning of its ``N``."""

    parsed: ParsedEquation
    formula: Formula = field(repr=False)
    bindings: tuple[NameBinding, ...]
    rarity: int
    count: ParameterCount | None = None  # the parameters that N counts, if the formula has one

    @cached_property
    def expr(self) -> Expr:
        """The printed formula over our sizes, expanded. Raises ReadingError if it is too long."""
        expr = substitute_names(self.parsed.expr, self.bindings, self.formula)
        if self.count is None:
            return expr
        stated = expr.xreplace({COUNT: self.count.expr})
        check_length(stated)
        return expand(stated)

    @cached_property
    def sizes(self) -> frozenset[Symbol]:
        """The sizes of the target that the readings contain."""
        found = {size for each in self.bindings for size in each.expr.xreplace(self.formula.relations).free_symbols}
        if self.count is not None:
            found |= self.count.expr.free_symbols
        return frozenset(found - {COUNT})

    @cached_property
    def fingerprint(self) -> int | None:
        """The fingerprint of ``expr``, without expanding it."""
        puts = {name_symbol(each.name): each.expr.xreplace(self.formula.relations) for each in self.bindings}
        if self.count is not None:
            puts = {name: expr.xreplace({COUNT: self.count.expr}) for name, expr in puts.items()}
        point = Point.of(puts)
        return None if point is None else fingerprint(self.parsed.expr, point)

    @property
    def key(self) -> tuple[tuple[Expr, str], ...]:
        """The assignment, which readings with different meanings of ``N`` share."""
        return tuple((each.expr, each.counts) for each in self.bindings)


def printed_readings(
    parsed: ParsedEquation,
    formula: Formula,
    readings: Sequence[tuple[NameBinding, ...]],
    counts: Sequence[ParameterCount],
) -> list[PrintedReading]:
    """Return the readings of a printed formula, the most usual first, up to ``MAX_READINGS``.

    Parameters
    ----------
    parsed
        The printed formula.
    formula
        Our formula.
    readings
        The possible readings of each name, as ``name_readings`` returns them.
    counts
        The possible meanings of the number of parameters.

    Raises
    ------
    ReadingError
        If the formula has a root, or if several names can only mean the number of parameters.

    """
    if any(not each.exp.is_Integer for each in parsed.expr.atoms(Pow)):
        raise ReadingError(f"{quoted(parsed.text)} contains a root, but counts have none; rewrite it without roots")
    counting = [each[0].name for each in readings if all(one.expr == COUNT for one in each)]
    if len(counting) > 1:
        raise ReadingError(
            f"{listed(counting)} can each mean the number of parameters; state their meanings with --where"
        )
    found: list[PrintedReading] = []
    for bindings, rarity in _assignments(readings):
        counted = [each for each in bindings if each.expr == COUNT]
        if len(counted) > 1:
            continue
        meanings: dict[Expr, ParameterCount] = {}
        for each in counts if counted else ():
            if not counted[0].counts or each.key in counted[0].counts.split("|"):
                meanings.setdefault(each.expr, each)
        found += [PrintedReading(parsed, formula, bindings, rarity, each) for each in meanings.values() or (None,)]
        if len(found) >= MAX_READINGS:
            break
    if not found:
        names = listed(each[0].name for each in readings)
        raise ReadingError(f"several of {names} can only have the same meaning; state their meanings with --where")
    return found


def without_common_factors(parsed: ParsedEquation) -> ParsedEquation:
    """Return a printed ratio in lowest terms, without the names that cancel, such as a batch size."""
    check_length(parsed.expr)
    expr = cancel(parsed.expr)
    left = {str(name) for name in expr.free_symbols}
    return replace(parsed, expr=expr, names=tuple(name for name in parsed.names if name in left))


def _assignments(readings: Sequence[tuple[NameBinding, ...]]) -> Iterator[tuple[tuple[NameBinding, ...], int]]:
    """Yield the assignments by increasing rarity."""
    least = sum(each[0].rarity for each in readings)
    for rarity in range(least, least + MAX_RARITY + 1):
        for found in _of_rarity(readings, rarity, ()):
            yield found, rarity


def _of_rarity(
    readings: Sequence[tuple[NameBinding, ...]], rarity: int, chosen: tuple[NameBinding, ...]
) -> Iterator[tuple[NameBinding, ...]]:
    """Yield the assignments of exactly this rarity."""
    place = len(chosen)
    if place == len(readings):
        if rarity == 0:
            yield chosen
        return
    for each in readings[place]:
        if any(each.expr == other.expr and is_size(each.expr) and letter(each.expr).run for other in chosen):
            continue  # a formula has one name for a length or a batch size
        shared = sum(
            _overlap(each.expr, other.expr) and (len(readings[place]) > 1 or len(readings[number]) > 1)
            for number, other in enumerate(chosen)
        )
        left = rarity - each.rarity - SHARED * shared
        if left >= 0:
            yield from _of_rarity(readings, left, (*chosen, each))


def _overlap(one: Expr, two: Expr) -> bool:
    """Return True if two names have the same reading, or one is a factor of the other's, such as S of B*S."""
    return one == two or any(
        large.is_polynomial() and small.is_Symbol and small in Mul.make_args(large)
        for large, small in ((one, two), (two, one))
    )
