"""Solver for sizes: all integer solutions of a formula for a given total, the practical ones first."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from sympy import Expr, Integer, Symbol

from ..architectures import composed_model
from ..formulas.arrays import WIDE
from ..formulas.compiled_formula import Compiled
from ..formulas.compiler import compiled_exactly, is_integral, program
from ..formulas.formula import Formula
from ..formulas.program import ONE, Monomial, Polynomial, Program
from ..formulas.program import RationalFunction as Quotient
from ..language.aliases import Alias, former
from ..language.amounts import is_amount
from ..language.errors import OptionError, SizeError, it_or_each, needs_values
from ..language.frozen import FrozenDict, Immutable
from ..language.notation.text import cell, code, json_number, text
from ..language.symbols import letter, named_symbol, print_order
from ..language.target import AnyTarget
from ..models.model import Model
from ..output.base_plot import Plot
from ..output.blocks import BriefBlock, Heading, Line, Math, Paragraph, Table
from .box import SizeBox, separate_conditions
from .condition_search import ConditionSearch, SearchedValue
from .free_sizes import FreeSizes
from .grid import Axis, Grid, length
from .numpy_import import array_namespace, has_numpy
from .open_model import Given, OpenModel, Where, condition_lines
from .quantity_conditions import QuantityCondition, bracketed, held_conditions
from .result import FormulaAnswer, Told, ignore_progress
from .row_program import RowProgram, compile_for_rows
from .search_boxes import MOST as COMBINATIONS
from .search_boxes import OpenSize, SearchLimitError, SearchRegion
from .search_goal import NO_GOAL, SearchGoal
from .sweep import LISTED, SHOWN

MOST = 10**6  # maximum number of solutions
STEPS = 4 * 10**9  # limit on evaluations: 200 million combinations, or fewer if each takes more
DOUBLED = 40  # how often the search for the nearest solution doubles its upper limit
WORK = (
    2 * 10**7
)  # rows tried for the nearest solution if there is no exact one; each call of more() counts as STEP rows
STEP = 10_000
# Without NumPy, the work of a search is counted in units of some 10 microseconds in a browser: one for a combination of
# sizes, and more if its formula is long.
UNITS = 3 * 10**6
UNITS_STEP = 100  # the units of a call of more()
TESTED, SOLVED = 2, 8  # the units of a combination whose conditions are tested, and of a solution
OPERATIONS = 25  # operations of a formula that take one more unit

Columns = dict[str, Any]


@dataclass(frozen=True)
class Solution(Immutable):
    """One solution: its sizes, in the order of the alphabet, and their value."""

    sizes: Mapping[str, int]
    value: int | Fraction
    difference: int | Fraction
    buildable: bool

    def to_json(self) -> dict[str, Any]:
        """Return the solution as ``solve --json`` prints it."""
        return {
            "sizes": dict(self.sizes),
            "value": json_number(self.value),
            "difference": json_number(self.difference),
            "buildable": self.buildable,
        }


class _Tried:
    """A work counter that stops searches that would take minutes."""

    def __init__(self) -> None:
        self.rows = 0
        self.most, self.step = (WORK, STEP) if has_numpy() else (UNITS // 2, UNITS_STEP)

    def more(self, rows: int) -> None:
        """Add some rows. Raises SearchLimitError if the total exceeds the limit."""
        self.rows += rows + self.step
        if self.rows > self.most:
            raise SearchLimitError(
                "search limit reached: almost no sizes satisfy the conditions; give each size a range"
            )


class _PlainWork:
    """A counter of the work on combinations that may be solutions; it has a limit only without NumPy."""

    def __init__(self) -> None:
        self.units = 0

    def more(self, units: int) -> None:
        """Add work before it is done. Raises SearchLimitError."""
        self.units += units + UNITS_STEP
        self.check(0)

    def check(self, units: int) -> None:
        """Raise SearchLimitError if the total and some more units exceed the limit."""
        if self.units + units > UNITS and not has_numpy():
            raise SearchLimitError(
                "there may be too many solutions to find without numpy; give shorter ranges, or solve for fewer sizes"
            )


@dataclass(frozen=True, repr=False)
class Solutions(FormulaAnswer):
    """The sizes that give a total, or that stay within a limit with the first size as large as possible."""

    model: Model
    formula: Formula
    unknowns: tuple[OpenSize, ...]
    relations: Mapping[Symbol, Expr]
    free: Mapping[Symbol, int | None]  # the sizes determined by conditions in each solution
    goal: SearchGoal
    conditions: tuple[QuantityCondition, ...] = ()
    progress: Told = field(
        default=ignore_progress, compare=False
    )  # called with the number of combinations tried and their total

    def __post_init__(self) -> None:
        """Validate all inputs before computing. Raises SizeError."""
        super().__post_init__()
        names = [each.name for each in self.unknowns]
        for name in names:
            if names.count(name) > 1:
                raise SizeError(f"--find {name} is given twice; keep one")
            used = self._program.sizes_of({*self._program.value.above.names, *dict(self._program.value.below)})
            if name not in used | self._sizes_of_conditions:
                raise SizeError(f"{name} does not affect {self.formula.id} = {text(self.formula.display_expr)[:200]}")
        needed = [*self._compiled.symbols, *sorted(self._sizes_of_conditions - {*map(str, self.free)})]
        lacking = [name for name in dict.fromkeys(needed) if name not in names and name not in self._given]
        if lacking:
            raise SizeError(needs_values(self.formula.id, lacking, after=f" or solve for {it_or_each(lacking)}"))

    @cached_property
    def _compiled(self) -> Compiled:
        found = compiled_exactly(self.formula)
        free = {*map(str, self.free)}
        return replace(found, defaults={name: number for name, number in found.defaults.items() if name not in free})

    @cached_property
    def _given(self) -> dict[str, int]:
        """The numbers of the sizes that the formula or a condition needs."""
        own = {str(size): number for size, number in self.model.known.items() if size not in self.free}
        searched = {*self._names, *map(str, self.relations), *map(str, self.formula.relations)}
        return {name: number for name, number in {**own, **self._compiled.defaults}.items() if name not in searched}

    @cached_property
    def _sizes_of_conditions(self) -> frozenset[str]:
        """The sizes in the conditions and in the target, with relations substituted."""
        exprs = [side for each in self.conditions for side in (each.left, each.right)]
        if self.goal.searched is not None and self.goal.searched.target is not None:
            exprs.append(self.goal.searched.target)
        return frozenset(str(size) for each in exprs for size in each.xreplace(self._substituted).free_symbols)

    @cached_property
    def _substituted(self) -> dict[Symbol, Expr]:
        return {**self.formula.relations, **self.relations}

    @cached_property
    def _held(self) -> tuple[Program, ...]:
        """All conditions as programs: of the formula, the given ones, and of the formulas in them."""
        known = frozenset({*self._given, *self._names, *map(str, self.free)})
        made = [Program(Quotient(Polynomial()), self._program.definitions, self._program.conditions)]
        made += [
            each.at(self._given) for condition in self.conditions for each in condition.programs(self._substituted)
        ]
        made += [held_conditions(each).at(self._given) for each in self.goal.formulas]
        return tuple(each.concerned(known) for each in made)

    @cached_property
    def _free(self) -> FreeSizes:
        preferred = {str(size): number for size, number in self.free.items()}
        return FreeSizes(self._held, preferred)

    @cached_property
    def _search(self) -> ConditionSearch | None:
        """The search under several conditions, or None if the value is an integer that grows with every size."""
        searched = self.goal.searched
        if searched is None:
            if self._reach.bounded or not has_numpy():
                return None
            margin = None if self.goal.low is None else Integer(self.goal.high - self.goal.aim)
            searched = SearchedValue(self.formula.exact_value, Integer(self.goal.aim), margin)
        target = None if searched.target is None else searched.target.xreplace(self._substituted)
        margin = None if searched.margin is None else searched.margin.xreplace(self._substituted)
        value = SearchedValue(searched.expr, target, margin)
        return ConditionSearch(
            self.unknowns, value, self._held, self._free, self._given, self.formula.id, self.progress
        )

    @cached_property
    def _program(self) -> Program:
        given = {name: number for name, number in self._compiled.defaults.items() if name not in self._names}
        return self._compiled.program.at(given)

    @cached_property
    def _tested(self) -> Program:
        """The program with the conditions whose sizes have numbers in every row."""
        given = {name: number for name, number in self._compiled.defaults.items() if name not in self._names}
        return self._compiled.program.concerned(frozenset({*given, *self._names})).at(given)

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.unknowns)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of the sizes of a solution: the unknowns, then the sizes that depend on them."""
        return (*self._names, *map(str, self.relations), *self._free.names)

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """The sizes with fixed numbers."""
        used = {*self._compiled.symbols, *(name for held in self._compiled.program.conditions for name in held.sizes)}
        used |= self._sizes_of_conditions
        known = {**self._given, **self._free.constant}
        own = sorted(used.difference(self._names) & known.keys(), key=lambda name: print_order(named_symbol(name)))
        return FrozenDict({name: known[name] for name in own})

    @cached_property
    def _reach(self) -> SearchRegion:
        sizes = [replace(each, values=self._limited(each)) for each in self.unknowns]
        return SearchRegion(replace(self._program, conditions=()), sizes, self.formula.id)

    def _limited(self, size: OpenSize) -> range | tuple[int, ...] | None:
        """Return the range of a size that the conditions allow, such as 1 to P, or None if it has no bound."""
        most: int | None = None
        for held in self._program.conditions:
            for test in () if held.one and len(held.tests) > 1 else held.tests:
                room = dict((test.right + -test.left).terms) if test.how == "at most" else {}
                if room.pop(((size.name, 1),), 0) >= 0:
                    continue
                slope = -dict((test.right + -test.left).terms)[((size.name, 1),)]
                end = room.pop(ONE, 0)
                for monomial, number in room.items():  # the other sizes take their smallest values
                    if len(monomial) != 1 or monomial[0][1] != 1 or monomial[0][0] not in self._least or number > 0:
                        break
                    end += number * self._least[monomial[0][0]]
                else:
                    most = end // slope if most is None else min(most, end // slope)
        if most is None or size.all[0] > most:
            return size.values
        if size.values is None:
            return range(1, most + 1)
        values = size.values
        if isinstance(values, range):
            return values[: (most - values.start) // values.step + 1]
        return values[: bisect_right(values, most)]

    @cached_property
    def _least(self) -> dict[str, int]:
        """The smallest value of each unknown size."""
        return {each.name: each.all[0] for each in self.unknowns}

    @cached_property
    def _conditions(self) -> dict[Program, frozenset[str]]:
        """Each condition on the unknown sizes, as a program."""
        return separate_conditions(self._program.concerned(frozenset(self._names)))

    def _within(self, columns: Columns, last: str, count: int) -> tuple[Any, Any]:
        """Return for each row the first and last index among a size's values that the conditions allow."""
        xp = array_namespace()
        every = self._reach.sizes[last].all
        if not any(last in sizes for sizes in self._conditions.values()):
            return xp.zeros(count, xp.int64), xp.full(count, length(every) - 1)
        box = SizeBox.of(last, self._conditions, columns, count)
        if isinstance(every, range):
            first, final = -((every.start - box.low) // every.step), (box.high - every.start) // every.step
        else:
            values = xp.array(every, xp.int64)
            first, final = values.searchsorted(box.low), values.searchsorted(box.high, side="right") - 1
        first = xp.maximum(first, 0)
        return first, xp.where(box.none, first - 1, xp.minimum(final, length(every) - 1))

    @cached_property
    def _units(self) -> int:
        """The units of work on one combination without NumPy."""
        shapes, ranges = dict.fromkeys(self._names, (1,)), dict.fromkeys(self._names, (1, 1))
        return 1 + RowProgram(self._tested, shapes, ranges).plan.operations // OPERATIONS

    @cached_property
    def _work(self) -> _PlainWork:
        return _PlainWork()

    @cached_property
    def _last(self) -> str | None:
        """The size that is solved for while all others are enumerated, or None if every size is enumerated.

        With an upper limit it is the first size, otherwise the size with the most values.
        """
        if not self._reach.bounded:
            growing = [name for name in self._names if name in self._reach.growing]
            if self.goal.low is None:
                growing = [name for name in growing if name == self._names[0]]
            return next((name for name in growing if not self._program.value.below), None)
        if self.goal.low is None or len(self.unknowns) == 1:
            return self._names[0]
        linear = [name for name in self._names if self._line(name) is not None] or list(self._names)
        return max(linear, key=lambda name: (length(self._reach.values(name, {}, self.goal.high)), name))

    def _line(self, name: str) -> tuple[Program, Program] | None:
        """Return slope and intercept of the value as a linear function of one size, or None if it is not linear."""
        value, definitions = self._program.value, self._program.definitions
        inside = self._program.sizes_of(each.name for each in definitions)
        if name in inside or name in dict(value.below):
            return None
        slope: list[tuple[Monomial, int]] = []
        rest: list[tuple[Monomial, int]] = []
        for monomial, number in value.above.terms:
            power = dict(monomial).get(name, 0)
            if power > 1:
                return None
            others = tuple(each for each in monomial if each[0] != name)
            (slope if power else rest).append((others, number))
        return tuple(Program(Quotient(Polynomial.of(terms)), definitions) for terms in (slope, rest))  # type: ignore[return-value]

    @cached_property
    def all(self) -> tuple[Solution, ...]:
        """Every solution, the practical ones first, then the nearest. Raises SizeError if there are too many."""
        if self._search is not None:
            return tuple(sorted((self._of_point(*each) for each in self._search.solutions(MOST)), key=self._order))
        found: list[Solution] = []
        for columns in self._found():
            found += self._checked(columns)
            if len(found) > MOST:
                raise SizeError(f"there are more than {MOST:,} solutions; choose a smaller --tolerance, or give ranges")
        if self.goal.low is None:
            best: dict[tuple[int, ...], Solution] = {}
            for each in found:
                key = tuple(each.sizes[name] for name in self._names[1:])
                if key not in best or best[key].sizes[self._names[0]] < each.sizes[self._names[0]]:
                    best[key] = each
            found = list(best.values())
        return tuple(sorted(found, key=self._order))

    def _order(self, each: Solution) -> tuple[Any, ...]:
        widths = [each.sizes[name] for name in self.columns if _is_width(name)]
        rough = sum(1 for width in widths if width % 128), sum(1 for width in widths if width % 64)
        return not each.buildable, *rough, abs(each.difference), tuple(-number for number in each.sizes.values())

    def _found(self) -> Iterator[Columns]:
        """Yield columns of sizes whose value may be in the wanted range."""
        last = self._last
        names = [name for name in self._names if name != last]
        if last is not None and self._reach.bounded:
            self._reach.values(last, {}, self.goal.high)  # raises SizeError if the size has no bound
        steps = 1 if last is None or self._line(last) else max(1, self._end(last).bit_length())
        if has_numpy():
            most, why = min(COMBINATIONS, STEPS // steps), ""
        else:
            most, why = UNITS // (steps * self._units), ", too many without numpy"
        boxes = self._reach.looked(self._ordered(names), self.goal.high, most, why)
        total = sum(math.prod(length(axis.values) for axis in box) for box in boxes)
        done = 0
        for box in boxes:
            for columns, count in _pieces(box):
                yield from self._of_piece(columns, count, last)
                done += count
                self.progress(done, total)

    def _ordered(self, names: Iterable[str]) -> list[str]:
        """Sort sizes by their number of values, the largest last: its range follows from the values of the others."""
        high = self.goal.high
        return sorted(
            names, key=lambda name: (length(self._reach.values(name, {}, high)), print_order(named_symbol(name)))
        )

    def _of_piece(self, columns: Columns, count: int, last: str | None) -> Iterator[Columns]:
        xp = array_namespace()
        columns, count = self._fitting(columns, count)
        if not count:
            return
        if last is None:
            values = self._values(columns)
            mask = values <= self.goal.high
            if self.goal.low is not None:
                mask = mask & (values >= self.goal.low)
            places = xp.flatnonzero(mask)
            if len(places):
                yield {name: column[places] for name, column in columns.items()}
            return
        every = self._reach.sizes[last].all
        top = self._places(columns, last, self.goal.high, count)
        low = self.goal.low
        bottom = xp.zeros_like(top) if low is None else self._places(columns, last, low - 1, count) + 1
        rows = xp.flatnonzero(bottom <= top)
        columns = {name: column[rows] for name, column in columns.items()}
        first, final = self._within(columns, last, len(rows))
        bottom, top = xp.maximum(bottom[rows], first), xp.minimum(top[rows], final)
        if low is None:
            yield from self._largest(columns, last, top, bottom)
            return
        counts = xp.maximum(top - bottom + 1, 0)
        total = int(counts.sum())
        if total > 10 * MOST:
            raise SizeError(f"there are more than {MOST:,} solutions; choose a smaller --tolerance, or give ranges")
        self._work.check(TESTED * self._units * total)
        if total:
            places = xp.flatnonzero(counts)
            rows = xp.repeat(places, counts[places])
            starts = xp.repeat(xp.cumsum(counts[places]) - counts[places], counts[places])
            own = bottom[rows] + (xp.arange(total) - starts)
            yield {**{name: column[rows] for name, column in columns.items()}, last: _taken(every, own)}

    def _fitting(self, columns: Columns, count: int) -> tuple[Columns, int]:
        """Return the rows of a piece that satisfy every condition on its own sizes, and their number."""
        xp = array_namespace()
        made = self._program.concerned(frozenset(columns))
        made = Program(Quotient(Polynomial()), made.definitions if made.conditions else (), made.conditions)
        if not columns:
            return columns, count
        names = {name for held in made.conditions for name in made.sizes_of(held.names)} | made.sizes_of(
            each.name for each in made.definitions
        )
        mask = xp.ones(count, bool)
        for _, holds in compile_for_rows(made, columns).run(columns)[1] if names <= columns.keys() else ():
            mask &= xp.broadcast_to(holds, mask.shape)
        return {name: column[mask] for name, column in columns.items()}, int(mask.sum())

    def _largest(self, columns: Columns, last: str, top: Any, first: Any) -> Iterator[Columns]:
        """Yield the largest value of a size that the conditions allow, searching downwards from a given index."""
        xp = array_namespace()
        every = self._reach.sizes[last].all
        rows, place, first = xp.flatnonzero(top >= first), top[top >= first], first[top >= first]
        tried = _Tried()
        while len(rows):
            tried.more(0)
            own = {**{name: column[rows] for name, column in columns.items()}, last: _taken(every, place)}
            _, holds = self._answers(own)
            if holds.any():
                yield {name: column[holds] for name, column in own.items()}
            left = ~holds & (place > first)
            rows, place, first = rows[left], place[left] - 1, first[left]

    def _places(self, columns: Columns, last: str, limit: int, count: int) -> Any:
        """Return for each row the last index among a size's values that stays within a limit, or -1."""
        xp = array_namespace()
        every = self._reach.sizes[last].all
        line = self._line(last) if isinstance(every, range) else None
        if line is not None:
            slope, rest = (xp.atleast_1d(_run(each, columns)) for each in line)
            under = Program(Quotient(self._program.value.denominator), self._program.definitions)
            below = xp.atleast_1d(_run(under, columns))  # NumPy returns a scalar for arithmetic on 0-d object arrays
            big = [int(abs(each).max(initial=0)) if each.size else 0 for each in (slope, rest, below)]
            kind = xp.int64 if max(big[0], big[1] + abs(limit) * max(big[2], 1)) < WIDE // 2 else object
            slope, rest, below = (each.astype(kind) for each in (slope, rest, below))
            if (slope > 0).all():
                assert isinstance(every, range)  # noqa: S101
                found = ((limit * below - rest) // slope - every.start) // every.step
                found = xp.broadcast_to(xp.minimum(xp.maximum(found, -1), length(every) - 1), (count,))
                return found.astype(xp.int64)
        low = xp.full(count, -1, xp.int64)
        top = xp.full(count, self._end(last), xp.int64)
        while (top - low > 1).any():
            middle = (low + top) // 2
            own = {**columns, last: _taken(every, xp.clip(middle, 0, length(every) - 1))}
            stays = (self._values(own) <= limit) & (middle >= 0)
            low, top = xp.where(stays, middle, low), xp.where(stays, top, middle)
        return low

    def _end(self, last: str) -> int:
        """Return the number of values of a size after which it exceeds the limit whatever the other sizes are."""
        every = self._reach.sizes[last].all
        if self._reach.bounded:
            with suppress(SizeError):  # it stays within the limit for every value
                every = self._reach.values(last, {}, self.goal.high)
        return length(every)

    def _values(self, columns: Columns) -> Any:
        """Return the value of each row, whether or not its conditions hold, rounded down to an integer."""
        return _run(replace(self._program, conditions=()), columns)

    def _checked(self, columns: Columns) -> Iterator[Solution]:
        """Yield the rows that satisfy all conditions and whose value is in the wanted range."""
        values, holds = self._answers(columns)
        places = array_namespace().flatnonzero(holds)
        self._work.more(SOLVED * len(places))
        own = {name: column[places] for name, column in columns.items()}
        every = {**own, **self._free.rows(own, len(places))[0]}
        names = (*self._names, *self._free.names)
        for *sizes, value in zip(*(every[name].tolist() for name in names), values[places].tolist(), strict=True):
            low = self.goal.low
            if value <= self.goal.high and (low is None or value >= low):
                yield self._solution(dict(zip(names, sizes, strict=True)), value)

    def _answers(self, columns: Columns) -> tuple[Any, Any]:
        """Return the value of each row, and the rows that satisfy all conditions for some values of the free sizes."""
        xp = array_namespace()
        count = len(columns[self._names[0]])
        self._work.more(TESTED * self._units * count)
        value, tests = compile_for_rows(self._tested, columns).run(columns)
        values, holds = xp.broadcast_to(value, (count,)), xp.ones(count, bool)
        for _, held in tests:
            holds &= xp.asarray(held, bool)
        places = xp.flatnonzero(holds)
        holds[places] = self._free.rows({name: column[places] for name, column in columns.items()}, len(places))[1]
        return values, holds

    def _of_point(self, sizes: dict[str, int], value: Fraction, target: Fraction | None) -> Solution:
        """Return a solution with its exact value and its distance from the target."""
        found = self._solution(sizes, 0)
        exact = [int(each) if each.denominator == 1 else each for each in (value, value - (target or value))]
        return replace(found, value=exact[0], difference=exact[1])

    def _solution(self, sizes: dict[str, int], value: int) -> Solution:
        for name, follow in self._following.items():
            sizes[name] = follow(**{each: sizes[each] for each in self._names})
        own = {name: sizes[name] for name in self.columns}
        known = {**self.numbers, **own}
        buildable = all(own[name] % 64 == 0 for name in own if _is_width(name))
        if {"A", "E"} <= known.keys() and {"A", "E"} & own.keys():
            buildable = buildable and known["E"] % known["A"] == 0
        return Solution(own, value, value - self.goal.aim, buildable)

    @cached_property
    def _following(self) -> dict[str, Compiled]:
        given = {name: number for name, number in self._compiled.defaults.items() if name not in self._names}
        takes = frozenset({*given, *self._names})
        return {
            str(size): Compiled(str(size), program(value), (), takes, given) for size, value in self.relations.items()
        }

    @cached_property
    def nearest(self) -> Solution | None:
        """The nearest sizes if there is no solution; None if there is one, or if the search finds none."""
        if self.all:
            return None
        if self._search is not None:
            found = self._search.nearest()
            return None if found is None else self._of_point(*found)
        high, tried = self.goal.high, _Tried()
        try:
            for _ in range(DOUBLED):  # with a limit of twice the target, everything beyond it is farther away
                high *= 2
                if near := replace(self, goal=replace(self.goal, low=None, high=high))._nearest(tried):
                    return near
        except SearchLimitError:
            if not has_numpy():
                raise SizeError(
                    "there is no solution, and the search for the nearest one is too large without numpy; give each "
                    "size a range"
                ) from None
        except SizeError:
            pass
        return None

    def _nearest(self, tried: _Tried) -> Solution | None:
        xp = array_namespace()
        last = self._last
        names = [name for name in self._names if name != last]
        best: Solution | None = None
        for box in self._reach.looked(self._ordered(names), self.goal.high, tried.most):
            for piece, number in _pieces(box):
                tried.more(number)
                columns, count = self._fitting(piece, number)
                if last is None:
                    best = self._nearer(best, columns)[0] if count else best
                    continue
                first, final = self._within(columns, last, count)
                places = self._places(columns, last, self.goal.aim, count)
                best = self._walked(best, columns, last, xp.minimum(places, final), (first, final), -1, tried)
                best = self._walked(best, columns, last, xp.maximum(places + 1, first), (first, final), 1, tried)
        return best

    def _walked(
        self,
        best: Solution | None,
        columns: Columns,
        last: str,
        places: Any,
        ends: tuple[Any, Any],
        step: int,
        tried: _Tried,
    ) -> Solution | None:
        """Return the nearest of the best solution so far and those found by moving one size in one direction."""
        xp = array_namespace()
        every = self._reach.sizes[last].all
        inside = (places >= ends[0]) & (places <= ends[1])
        rows, places = xp.flatnonzero(inside), places[inside]
        first, final = (each[inside] for each in ends)
        while len(rows):
            tried.more(len(rows))
            own = {**{name: column[rows] for name, column in columns.items()}, last: _taken(every, places)}
            best, going = self._nearer(best, own)
            places = places + step
            going = going & (places >= first) & (places <= final)
            rows, places, first, final = rows[going], places[going], first[going], final[going]
        return best

    def _nearer(self, best: Solution | None, columns: Columns) -> tuple[Solution | None, Any]:
        """Return the nearest solution so far, and a mask of rows that are nearer but violate a condition."""
        xp = array_namespace()
        values, holds = self._answers(columns)
        away = self._away(values)
        allowed = xp.flatnonzero(holds)
        if len(allowed):
            place = int(allowed[away[allowed].argmin()])
            if best is None or int(away[place]) < abs(Fraction(best.difference)):
                own = {name: column[place : place + 1] for name, column in columns.items()}
                own |= self._free.rows(own, 1)[0]
                best = self._solution({name: int(each[0]) for name, each in own.items()}, int(values[place]))
        loose = self._values(columns)
        nearer = True if best is None else self._away(loose) < abs(best.difference)
        return best, ~holds & nearer

    def _away(self, values: Any) -> Any:
        """Return the distance of each value to the target."""
        if int(abs(values).max(initial=0)) + self.goal.aim >= WIDE:
            values = values.astype(object)
        return abs(values - self.goal.aim)

    def to_json(self) -> dict[str, Any]:
        """Return the solutions as ``solve --json`` prints them."""
        return {
            **self._formula_json(),
            "wanted": self.goal.to_json(),
            **({"conditions": [each.text for each in self.conditions]} if self.conditions else {}),
            "for": list(self._names),
            "given": self.numbers,
            "where": {str(size): code(value) for size, value in self.relations.items()},
            "free": list(self._free.names),
            "count": len(self.all),
            "solutions": [each.to_json() for each in self.all[:LISTED]],
            "nearest": self.nearest.to_json() if self.nearest else None,
        }

    def _posed(self) -> list[Line]:
        """Return the lines above the table: the target, fixed sizes, conventions and ranks."""
        found: list[Line] = [[f"{self.formula.measure.title}: {self.goal.text}, for {' and '.join(self._names)}"]]
        found += [[f"such that {each.text}"] for each in self.conditions]
        found += condition_lines(self.numbers, self.relations, self.free, self._free.names, [self.formula])
        return [*found, *self.rank_lines()]

    @property
    def _is_aimed(self) -> bool:
        """Whether there is a total or an upper limit."""
        return self.goal.searched is None or self.goal.searched.target is not None

    @property
    def _unit(self) -> str:
        return self.formula.measure.unit

    @property
    def verdict(self) -> str:
        """The number of solutions, or the nearest one if there is none."""
        count = len(self.all)
        if count:
            plural = "solution" if count == 1 else "solutions"
            if not {"A", *(name for name in self.columns if _is_width(name))} & {*self.columns}:
                return f"{count:,} {plural}"
            good = sum(1 for each in self.all if each.buildable)
            return f"{count:,} {plural}, {good:,} with widths divisible by 64 and E divisible by A"
        if self.nearest is None:
            return "no exact or approximate solution found" if self._is_aimed else "no sizes satisfy the conditions"
        sizes = ", ".join(f"{name} = {number:,}" for name, number in self.nearest.sizes.items())
        value, away = cell(self.nearest.value, self._unit), _signed(self.nearest.difference, self._unit)
        away = away.replace("%", " percentage points")
        return f"no solution; the nearest is {sizes}: {value} ({away})"

    def table(self) -> dict[str, list[Any]]:
        """Return every solution, in order: its sizes, their value, and its difference from the target."""
        found: dict[str, list[Any]] = {name: [each.sizes[name] for each in self.all] for name in self.columns}
        found[self.formula.measure.name] = [each.value for each in self.all]
        found["off by"] = [each.difference for each in self.all]
        found["buildable"] = [each.buildable for each in self.all]
        return found

    def _picture(self, by: str) -> Plot:
        from .result_plots.solution_plot import draw

        return draw(self)

    def __repr__(self) -> str:
        return f"<{self.formula.id} of {self.goal.text}: {self.verdict}>"

    def to_blocks(self) -> list[BriefBlock]:
        """Return the question, a table of the first solutions, and the verdict."""
        found: list[BriefBlock] = [
            Heading(1, [f"{self.model.title} ({self.model.target})"]),
            *map(Paragraph, self._posed()),
        ]
        if self.all:
            head: list[Line] = [[Math.of(named_symbol(name))] for name in self.columns]
            head += [[self.formula.measure.unit or "value"]] + [["off by"]] * self._is_aimed
            rows: list[list[Line]] = [
                [
                    *([f"{number:,}"] for number in one.sizes.values()),
                    [cell(one.value, self._unit)],
                    *([[_signed(one.difference, self._unit)]] if self._is_aimed else []),
                ]
                for one in self.all[:SHOWN]
            ]
            found.append(Table(head, rows, "r" * len(head)))
        if len(self.all) > SHOWN:
            found.append(Paragraph([f"and {len(self.all) - SHOWN:,} more; JSON lists up to {LISTED:,}"]))
        return [*found, Paragraph([self.verdict])]

    # Former names
    open = Alias("unknowns")
    follows = Alias("relations")
    wanted = Alias("goal")


def _is_width(name: str) -> bool:
    return letter(named_symbol(name)).unit == "elements"


def _signed(difference: int | Fraction, unit: str = "") -> str:
    return ("+" if difference > 0 else "") + cell(difference, unit) if difference else "0"


def _pieces(box: Sequence[Axis]) -> Iterator[tuple[Columns, int]]:
    """Yield the columns and the number of rows of the pieces of a box, or of one row for a box without sizes."""
    if not box:
        yield {}, 1
        return
    for columns in Grid(tuple(box)).columns():
        yield columns, len(columns[str(box[0].size)])


def _taken(every: range | tuple[int, ...], places: Any) -> Any:
    """Return the values at some indices."""
    xp = array_namespace()
    if isinstance(every, range):
        return every.start + every.step * places
    return xp.array(every, xp.int64)[places]


def _run(made: Program, columns: Columns) -> Any:
    """Return the values of a program without conditions, as an array."""
    return compile_for_rows(made, columns).run(columns)[0]


@former(for_="unknowns", within="tolerance", given="sizes", where="relations")
def solve(
    target: Model | AnyTarget,
    total: int | float | str | Fraction | None = None,
    *,
    unknowns: str | Iterable[str],
    at_most: int | float | str | Fraction | None = None,
    tolerance: int | str | None = None,
    share: str | None = None,
    reserve: int | str | None = None,
    quantity: str = "params",
    sizes: Given = None,
    relations: Where = None,
    filters: Iterable[str] = (),
    per: str | None = None,
    **conventions: str,
) -> Solutions:
    """Return all integer sizes that give a total, or that stay within an upper limit.

    Parameters
    ----------
    target
        A model, or any target of :func:`symformer.model`.
    total
        The total to reach: a number, text with a unit such as ``"7B"``, ``"80GB"`` or ``"50%"``, or an expression over
        sizes and quantities, such as ``"20*params"``. Give this or ``at_most``, or else ``filters``.
    unknowns
        The sizes to solve for: any positive integer, as in ``"L"``, or a range with a step, as in ``"E=512:8192:128"``;
        one of them, or a list.
    at_most
        The upper limit under which the first size is maximized, in the form of ``total``.
    tolerance
        The tolerance around ``total``; without it, only exact solutions count. A percentage such as ``"1%"``, an amount
        such as ``"50M"``, or an integer. ``tolerance="1%"`` of 7e9 accepts 6.93e9 to 7.07e9.
    share
        The share of ``at_most`` that may be used, such as ``"90%"``.
    reserve
        The amount of that share that stays free, in the form of ``total``.
    quantity
        The quantity whose total is given, or an expression such as ``"kv-cache(llama-2-7b)/kv-cache"``.
    sizes
        The sizes to set before the search, in place of the target's own: numbers such as ``{"V": 32000}``, or
        expressions over other sizes. They are the same in every solution or follow from it, and are not columns of the
        table.
    relations
        The sizes that follow from the unknowns, such as ``{"H": "4*E"}``. They are set as by ``sizes``, and each
        solution shows their numbers too. A size is in ``unknowns``, ``sizes`` or ``relations``, and in only one of
        them.
    filters
        Conditions that every solution satisfies, such as ``"inference-memory(C=32768) <= 80GB"``.
    per
        An expression that the quantity is divided by, such as ``"params"``.
    **conventions
        Conventions of the quantities, such as ``attention="causal"``.

    Returns
    -------
    Solutions
        ``all`` has every solution, the nearest to the total first; ``nearest`` is the nearest miss if there is none.
        ``table()``, ``to_pandas()``, ``to_markdown()`` and ``to_json()`` give the sizes, the totals and the
        differences.

    Raises
    ------
    OptionError
        If the arguments do not fit together, such as a total and an upper limit.
    SizeError
        If a size is set twice, has no effect, or makes the search too large.
    UnknownNameError
        If a size, the quantity or a convention is unknown.

    Examples
    --------
    >>> found = solve("llama-2-7b", 6738415616, unknowns="L")
    >>> [dict(each.sizes) for each in found.all]
    [{'L': 32}]
    >>> solve("gpt2", "124M", unknowns="L", tolerance="1%").table()["L"]
    [12]
    >>> solve("gpt2", at_most="1B", unknowns="L", sizes={"V": 32000, "P": 2048}).table()["L"]
    [137]
    >>> solve("gpt2", "1B", unknowns=["L", "E=768:2048:256"], tolerance="1%", relations={"H": "3*E"}).columns
    ('L', 'E', 'H', 'A')

    """
    unknown = tuple(OpenSize.read(each) for each in ([unknowns] if isinstance(unknowns, str) else unknowns))
    if not unknown:
        raise SizeError("no size to solve for; name one, such as --find L")
    model = composed_model(target)
    unknown = tuple(replace(each, size=named_symbol(model.size_name(each.name))) for each in unknown)
    if per is not None:
        quantity = f"{bracketed(quantity)}/{bracketed(per)}"
    filters = tuple(filters)
    texts = [each for each in (total, at_most, reserve) if isinstance(each, str) and not is_amount(each)]
    names = [each.name for each in unknown]
    posed = OpenModel.of(model, names, [quantity], sizes, relations, conventions, filters, texts)
    (formula,) = posed.formulas
    unbounded = total is None and at_most is None and not posed.conditions
    if is_integral(formula) and not posed.conditions and (not texts or unbounded):
        wanted = SearchGoal.of(total, at_most, tolerance, formula.measure.unit, share, reserve)
    elif unbounded:
        raise OptionError(NO_GOAL)
    else:
        wanted = SearchGoal.exact(total, at_most, tolerance, share, reserve, formula, posed.reader)
    return Solutions(posed.model, formula, unknown, posed.relations, posed.free, wanted, posed.conditions)
