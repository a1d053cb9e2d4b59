"""The closed form of any torch model, traced from its code by building it on the meta device at chosen sizes.

A dimension of a parameter, and the number of equal layers, is a short sum of products of sizes. The model is built at
enough points to solve for these sums exactly. It is then built at fresh random sizes, and every row must match by
name; otherwise the trace fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import prod
from time import monotonic
from typing import cast

from sympy import Add, Expr, Integer, Mul, Symbol, fraction, together

from ..catalogue.measured_model import Class, MeasuredModel
from ..language.errors import SizeError, UnknownNameError, WitnessError
from ..language.letter_rules import other_names
from ..language.sizes import AtMost, Condition, Divides, Equals, without_implied
from ..language.symbols import print_order
from ..models.model import Model
from ..models.provenance import ConfigLocation, Pinned, Provenance, TraceEvidence, traced_only
from ..output.status_line import status_line
from .edge_probes import EdgeProbes
from .interpolation import Point, UnfitError
from .rounding import round_down
from .row_interpolation import RowInterpolation, first_points, star
from .row_samples import SEED, Samples
from .sampling import DEEP, is_essential, is_optional
from .size_sensitivity import SizeSensitivity
from .stored_weights import releases
from .trace_result import MeetingError, OutOfTimeError, StartError, Trace, UnbuiltError, UncountedError
from .validation import BATCH, Validation

MEETINGS = 3  # attempts in which two formulas may coincide by chance
COPIES = (3, 12)  # numbers of copies to try for sizes that start smaller: two after a first one, a pattern of twelve
NONE: Mapping[str, int] = {}
DEPTHS = (4, 12, 10**6)  # limits on the layers while the shapes are found: more for layers in patterns

Letters = Callable[[Sequence[str]], Mapping[str, Symbol]]


class Tracer:
    """The trace of one model's code, from samples of it."""

    def __init__(
        self,
        samples: Samples,
        letters: Letters,
        *,
        depths: Sequence[int] = DEPTHS,
        fixed: Sequence[Pinned] = (),
        inert: Sequence[str] = (),
        stem: str = "",
    ) -> None:
        self.samples, self.letters, self.depths = samples, letters, depths
        self.fixed = fixed  # sizes that are already known to be fixed
        self.inert = inert  # sizes that may have no effect
        self.stem = stem  # the name of its formulas, if it is not the target

    def trace(self, target: str, title: str) -> Trace:
        """Return the closed form. Raises WitnessError if it is not a short sum of products, or a check fails."""
        begun = monotonic()
        refusal: WitnessError | None = None
        for depth in self.depths:
            try:
                with status_line(f"tracing {self.samples.wanted.quantity} of {target}"):
                    return self._repeating(self._without_odd(target, title, depth, begun), depth, begun)
            except OutOfTimeError as error:
                raise refusal or error from None
            except UnbuiltError:
                raise
            except WitnessError as error:
                refusal = refusal or error
                shapeless = isinstance(error, UnfitError) and not isinstance(error, UncountedError)
                start = self.samples.start
                if shapeless or all(value <= depth for name, value in start.items() if DEEP.search(name)):
                    break
        raise cast(WitnessError, refusal)

    def _repeating(self, found: Trace, depth: int, begun: float) -> Trace:
        """Repeat the trace with more copies of pinned sizes that start small, if fewer sizes are pinned then.

        One or two blocks show neither the structure of further ones nor a pattern of kinds.
        """
        if self.samples.wanted.held:
            return found
        model, repeated = found.model, dict[str, int]()
        given = {each.name for each in self.fixed}
        for few in (each for each in found.pinned if each.name not in given):
            for copies in COPIES:
                more = {**repeated, few.name: copies}
                if few.value >= copies or not self._copies({**self.samples.start, **more}):
                    continue
                try:
                    again = self._without_odd(model.target, model.title, max(depth, copies), begun, more)
                except WitnessError:
                    continue
                if len(again.pinned) < len(found.pinned) and self._admitted(again):
                    found, repeated = again, more
                    break
        return found

    def _copies(self, point: Point) -> bool:
        """Return True if the code accepts a point and adds rows there to those of the initial sizes.

        A longer period of a layer pattern is no number of copies: it replaces layers by others.
        """
        rows, own = self.samples.rows(point), self.samples.rows(self.samples.start)
        return rows is not None and own is not None and rows.keys() > own.keys()

    def _admitted(self, found: Trace) -> bool:
        """Return True if the model's own sizes satisfy every condition of a trace, and its total is the model's."""
        start = self.samples.start
        letters = self._named(found.letters)
        own = {symbol: start[name] for name, symbol in letters.items() if name in start}
        try:
            for condition in found.model.constraints:
                condition.check(own)
        except SizeError:
            return False
        component = cast(MeasuredModel, found.model.component)
        numbers = {symbol: Integer(size) for symbol, size in own.items()}
        each = (Mul(*shape, *counts[-1:]).xreplace(numbers) for (_, shape), counts in component.counts.items())
        rows = self.samples.rows(start)
        return rows is not None and bool(Add(*each) == sum(map(prod, rows.values())))

    def _without_odd(
        self, target: str, title: str, depth: int, begun: float, repeated: Mapping[str, int] = NONE
    ) -> Trace:
        """Return the trace with as many free sizes as possible: non-essential sizes without a formula are fixed."""
        samples = self.samples
        held = {each.name: each for each in self.fixed}
        meetings = 0
        while True:
            try:
                return self._trace(target, title, depth, begun, held, repeated)
            except MeetingError:
                meetings += 1
                if meetings == MEETINGS:
                    raise
            except StartError as error:
                if error.size in repeated:  # its formula would apply to the copies, and not to its own value
                    raise
                held[error.size] = Pinned(error.size, samples.start[error.size], str(error))
            except UnfitError as error:
                stays = next(filter(is_optional, reversed(error.moves)), "")
                if stays not in samples.start or stays in {*held, *repeated, *samples.draws}:
                    raise
                held[stays] = Pinned(stays, samples.start[stays], str(error))

    def _trace(
        self,
        target: str,
        title: str,
        depth: int,
        begun: float,
        held: Mapping[str, Pinned],
        repeated: Mapping[str, int],
    ) -> Trace:
        samples, wanted = self.samples, self.samples.wanted
        sizes = SizeSensitivity(samples, held, self.inert).find(depth, repeated)
        points = first_points(samples, sizes)
        first, pinned = points[0], sizes.pinned
        order = [*sizes.widths, *sizes.counts]
        settling = RowInterpolation(samples, sizes, points, self.letters(order))
        shapes = settling.shapes()
        classes: dict[str, Class] = {name: (star(name), shape) for name, shape in shapes.items()}
        totals = settling.counts(classes)
        kept = {settling.letters[n.name]: Integer(n.value) for n in pinned if n.name in settling.letters}
        totals = {(path, tuple(dim.xreplace(kept) for dim in shape)): count for (path, shape), count in totals.items()}
        moving = {*sizes.widths, *sizes.counts}
        letters = {name: symbol for name, symbol in settling.letters.items() if name in moving}
        found = MeasuredModel(
            title=title,
            stem=self.stem or target.replace(":", "-"),
            counts=totals,
            conditions=_conditions(totals),
            quantity=wanted.quantity,
            states=frozenset(path for path, _ in totals if wanted.state(path)),
        )
        checking = Validation(samples, sizes, first, letters)
        checked = checking.fresh(found)
        if not wanted.held:
            found = round_down(checking, found, checked)
            found = replace(found, conditions=_conditions(found.counts))
        probing = EdgeProbes(checking, found, self._named)
        loose = probing.conditions()
        for each in loose:
            name = next((n for n, symbol in letters.items() if isinstance(each, AtMost) and each.high == symbol), "")
            if isinstance(each, AtMost) and 0 < samples.start.get(name, 0) < each.low and is_optional(name):
                raise StartError(name, samples.start[name])
        if is_optional(name := probing.unlike()) and name not in held:
            raise StartError(name, samples.start[name])
        probed = replace(found, conditions=(*found.conditions, *loose))
        at_config = checking.at_config(probed)
        bounds = checking.bounds(probed)
        beside = [
            n for n in first if is_essential(n) and n not in samples.ties and n not in {each.name for each in pinned}
        ]
        known = self._named([*order, *probing.beside, *(beside if wanted.held else ())])
        edges = Validation(samples, sizes, first, known).edges(probed)
        named = self._named([*known, *(each.limit for each in bounds), *samples.ties, *(each.name for each in pinned)])
        ends = [each.condition({**named, **letters}) for each in bounds]
        if is_optional(name := self._broken((*edges, *ends), named)) and name not in held:
            raise StartError(name, samples.start[name])
        conditions = without_implied((*probed.conditions, *edges, *ends, *self._held(pinned, named)))
        used = {symbol for each in _exprs(found.counts) for symbol in each.free_symbols}
        used |= {symbol for each in (*loose, *edges, *ends) for symbol in each.symbols}
        names = {symbol: name for name, symbol in named.items()}
        places = {str(symbol): names[symbol] for symbol in sorted(used, key=print_order)}
        component = replace(found, conditions=conditions)
        read = TraceEvidence(
            points=len(checked),
            builds=samples.builds,
            seed=SEED,
            versions=releases("torch"),
            pinned=tuple(pinned),
            ties={name: str(tie) for name, tie in samples.ties.items()},
            at_config=at_config,
        )
        own = {name: str(symbol) for name, symbol in named.items()}
        provenance = Provenance(
            places={name: ConfigLocation(place) for name, place in places.items()},
            reading=read,
            names=other_names(own),
        )
        return Trace(
            Model(target=target, component=component, provenance=provenance),
            places,
            tuple(pinned),
            tuple(checked),
            dict(samples.ties),
            depth,
            samples.builds,
            monotonic() - begun,
            letters=own,
        )

    def _broken(self, conditions: Iterable[Condition], letters: Mapping[str, Symbol]) -> str:
        """Return the first non-essential size at which the config itself violates one of these conditions, or ""."""
        run = {*self.samples.lengths, BATCH}
        own = {letters[n]: size for n, size in self.samples.start.items() if n in letters and n not in run}
        for condition in conditions:
            try:
                condition.check(own)
            except SizeError:
                return next((n for n, symbol in letters.items() if symbol in condition.symbols and is_optional(n)), "")
        return ""

    def _named(self, names: Iterable[str]) -> dict[str, Symbol]:
        """Return the letters of the sizes that can have one, assigned in order."""
        named: list[str] = []
        for name in dict.fromkeys(filter(None, names)):
            with suppress(UnknownNameError):
                self.letters([*named, name])
                named.append(name)
        return dict(self.letters(named))

    def _held(self, pinned: Sequence[Pinned], letters: Mapping[str, Symbol]) -> list[Equals]:
        """Return the required value of every size that is not a symbol of the formula."""
        found = []
        for each in pinned:
            if each.name in letters:
                found.append(Equals(letters[each.name], Integer(each.value), traced_only(each.value, each.why)))
        for name, tie in self.samples.ties.items():
            if {name, *tie.powers} <= letters.keys():
                found.append(Equals(letters[name], tie.expr(letters), "the trace is not valid for any other value"))
        return found


def _exprs(counts: Mapping[Class, tuple[Expr, ...]]) -> set[Expr]:
    """Return every dimension and every number of layers."""
    return {dim for _, shape in counts for dim in shape} | {n for group in counts.values() for n in group}


def _conditions(counts: Mapping[Class, tuple[Expr, ...]]) -> tuple[Condition, ...]:
    return whole_conditions(_exprs(counts))


def whole_conditions(exprs: Iterable[Expr]) -> tuple[Condition, ...]:
    """Return the conditions for every shape and count to be a nonnegative integer: divisors and bounds."""
    found: dict[str, Condition] = {}
    for expr in exprs:
        above, below = fraction(together(expr))
        if below != 1:
            found[str(expr)] = Divides(below, above)
        for term in Add.make_args(expr):
            if isinstance(-term, Symbol) and not _multiple(expr - term, -term):
                found[str(expr)] = AtMost(-term, expr - term)
    return tuple(found[key] for key in sorted(found))


def _multiple(whole: Expr, size: Symbol) -> bool:
    """Return True if a product is an integer multiple of a size, and therefore not smaller."""
    times, below = fraction(whole / size)
    return bool(below == 1 and times.is_integer and times.is_positive)
