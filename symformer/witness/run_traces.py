"""The quantities that need a run of the model, and their traces, each made on first use."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from math import prod
from typing import Any, cast

from ..catalogue.measured_model import STORED, MeasuredModel, check_measurable
from ..catalogue.record import OPERATIONS
from ..components.base import Component
from ..language.errors import RuleError, WitnessError
from ..language.sizes import AtMost, Differs, Divides, without_implied
from ..models.provenance import ConfigLocation
from ..quantities import quantity as find_quantity
from .dispatch_recorders import Rows
from .index_checks import in_tables
from .interpolation import Point, UnfitError
from .measured_points import Build, Call, Points
from .row_samples import Decided, Samples, TraceGoal
from .sampling import BLOCK, DEEP, POSITIONS, is_window
from .size_sensitivity import FEWER
from .stored_weights import releases
from .torch_session import is_state
from .trace_result import UP_TO, OutOfTimeError, Trace, UnbuiltError
from .tracer import DEPTHS, Letters, Tracer

LIMIT = 240  # CPU seconds for each set of lengths
SHALLOW = 2  # layers to start with, if all layers are equal
LAYERS = (SHALLOW, 4, 8, 12)  # numbers of layers to try for a short run, fewest first: code may require some
MOST_OPERATIONS = 20_000  # in one run of a trace, which takes about 100 runs: code with a loop over tokens has many
BATCHES = (2, 3, 5, 7, 11, 13)
PICTURED = (4, 6, 9, 10, 14, 15)  # numbers of images with texts, different from all batch sizes
BATCHED = ("B", "B_vis")  # the letters of the batch sizes of texts and images
WINDOWS = (601, 701, 1009, 1201, 1801)  # with lengths on both sides
SHORT = (26, 35, 38, 47, 58, 61, 74, 83, 94, 87, 128)  # only the longest is a multiple of most block sizes
CHUNKED = (16, 8, 24, 32, 48, 12, 40, 20)  # tokens in a chunk, fewer than in the sequence
FEW = (5, 6, 7, 8, 9, 10, 11, 12, 14, 13, 16)  # for code that loops over tokens
BLOCKS = (512, 1024, 1536, 2560, 3584, 5632)  # for code that reads only whole blocks of tokens
PAST = (400_009, 34, 94, 400_009, 1009, 62, 20_011)  # on both sides of every window
LOOPED = (251, 34, 94, 409, 145, 62, 199)  # the same for code with a loop over tokens, and without windows
CHUNK_LOOPED = (1_201, 34, 94, 20_011, 409, 62, 821)  # and with a loop over chunks of tokens


@dataclass(frozen=True)
class Run:
    """A quantity that is measured in a run, and how the model is called for it."""

    wanted: TraceGoal
    each: int  # the value of one unit of a row's product
    rows: Callable[[Points, Point], Rows]
    decided: Callable[[Points, Point], Decided]
    length: str = "S"  # the letter of the number of tokens
    lengths: tuple[tuple[int, ...], ...] = (SHORT, BLOCKS)  # sets to try in turn: the first length, and those to sample
    cache: bool = False

    def count(self, points: Points, point: Point) -> int:
        """Return torch's total at one point."""
        return self.each * sum(map(prod, self.decided(points, point)[0].values()))


def _as_they_are(rows: Callable[[Points, Point], Rows]) -> Callable[[Points, Point], Decided]:
    """Return a function for the rows without a total from torch."""
    return lambda points, point: (rows(points, point), None)


_RUNS = (
    Run(TraceGoal("flops", "matrix product", tallied=True), 2, Points.forward, Points.counted),
    Run(
        TraceGoal("train-flops", "matrix product", tallied=True),
        2,
        Points.trained,
        partial(Points.counted, backward=True),
    ),
    Run(
        TraceGoal("activations", "tensor that is kept", tallied=True, held=True),
        1,
        Points.kept,
        _as_they_are(Points.really_kept),
    ),
    Run(
        TraceGoal("kv-cache", "tensor in a cache", held=True, cached=True, state=is_state),
        2,  # bytes per element in bf16
        Points.cached,
        _as_they_are(Points.cached),
        length="C",
        lengths=(PAST, SHORT),
        cache=True,
    ),
)
LIKE = ("flops", "kv-cache")  # quantities that a structure takes from a similar one
RUNS: Mapping[str, Run] = {run.wanted.quantity: run for run in _RUNS}


@dataclass(frozen=True)
class Runner:
    """The means to run one model: its build, its call, and the lengths it takes in addition to B."""

    build: Build
    start: Point
    calls: Callable[[Run], Call]
    takes: Callable[[Run], tuple[str, ...]]
    letters: Letters
    library: str = ""
    unaided: Callable[[Run], Call] | None = None  # calls it with tokens only, if ``calls`` passes optional inputs
    refusal: str = ""  # why it cannot be run
    hint: str = ""  # added to an error
    lift: Callable[[Trace, Trace, Runner], Trace] | None = None  # takes the traces of stored parameters and products
    ignored: tuple[str, ...] = ()  # switches of its config that do not affect the stored parameters
    unread: tuple[str, ...] = ()  # inputs of the class that a run does not provide
    images: str = ""  # the note on images, if the run has images with its tokens
    like: Trace | None = None  # the products of another structure with the same products and the same cache

    def trace(self, found: Trace, quantity: str, lengths: tuple[int, ...], points: Points, least: int = 0) -> Trace:
        """Return the trace of a run at some lengths, starting with at least ``least`` layers. Raises WitnessError."""
        try:
            return self._trace(found, quantity, lengths, points, least)
        except OutOfTimeError:
            raise
        except WitnessError as error:
            if not points.apart(isinstance(error, UnfitError)):
                raise
            return self._trace(found, quantity, lengths, points, least)

    def _trace(self, found: Trace, quantity: str, lengths: tuple[int, ...], points: Points, least: int) -> Trace:
        run = RUNS[quantity]
        stacks = {counts for counts in cast(MeasuredModel, found.model.component).counts.values() if counts}
        takes = self.takes(run)
        # Lengths of different kinds of tokens differ, so that no shape is mistaken for another.
        tokens = [name for name in takes if name not in BATCHED]
        drawn = {name: [each + place for each in lengths] for place, name in enumerate(tokens)}
        draws = {name: each[1:] for name, each in drawn.items()}
        batches = BATCHES if drawn else BATCHES[1:]  # image classifiers have two classes by default
        few = {name: each for name, each in (("B", batches), ("B_vis", PICTURED)) if name in takes}
        draws |= {name: list(each) for name, each in few.items()}
        draws |= {name: list(CHUNKED) for name in self.start if BLOCK.search(name)}
        if run.cache:
            draws |= {name: list(WINDOWS) for name in self.start if is_window(name)}
        begin = {**self.start, **{name: each[0] for name, each in drawn.items()}}
        begin |= {name: each[0] for name, each in few.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            goes = Points(self.build, in_tables((self.unaided or self.calls)(run))).dispatched
            begin |= self.room(goes, begin, drawn)
            if lengths == LOOPED:
                check_operations(goes, begin, found.depth, lengths[0])
            samples = Samples(
                partial(run.rows, points),
                begin,
                run.wanted,
                draws=draws,
                lengths=tuple(drawn),
                decides=partial(run.decided, points),
                takes=goes,
                ties=found.ties,  # the run must satisfy the ties of the weights
                limit=LIMIT,
                near=not self.library,
            )
            moving = {*found.symbols.values(), *found.ties, *(each.name for each in found.pinned), *drawn, *draws}
            traced = Tracer(
                samples,
                lambda names: self.letters(list(dict.fromkeys([*found.letters, *names]))),
                depths=[each for each in _depths(found.depth, len(stacks)) if each >= least],
                fixed=found.pinned,
                inert=[name for name in begin if name not in moving],
                stem=found.model.id,
            ).trace(found.model.target, found.model.title)
        told = [
            each
            for each in found.model.constraints
            if isinstance(each, (Differs, Divides, AtMost)) and each.symbols <= {*traced.model.sizes}
        ]
        component = cast(MeasuredModel, traced.model.component)
        return with_facts(traced, maker=self.library, conditions=without_implied((*component.conditions, *told)))

    def room(self, takes: Callable[[Point], object], begin: Point, drawn: Mapping[str, list[int]]) -> Point:
        """Return larger initial sizes that the longest lengths require, such as more positions; {} if none."""
        shallow = next((few for few in _few_layers(begin) if accepts(takes, {**begin, **few})), None)
        if shallow is None:
            return {}
        longest = {**begin, **shallow, **{name: max(each) for name, each in drawn.items()}}
        if not drawn or accepts(takes, longest):
            return {}
        most = max(map(max, drawn.values()))
        short = {n: v * -(-4 * most // v) for n, v in self.start.items() if v < most and not DEEP.search(n)}
        places = {name: size for name, size in short.items() if POSITIONS.search(name)}
        for larger in (places, *({name: size} for name, size in short.items())):
            if larger and accepts(takes, {**longest, **larger}):
                return larger
        return {}

    def lengths(self, run: Run, points: Points) -> tuple[tuple[int, ...], ...]:
        """Return the lengths to try in turn: small ones for code with a loop over tokens, or over chunks of them."""
        if not run.cache:
            few, many = self.operations(run, points, FEW[0], FEW[-1])
            return (FEW,) if many > 2 * few else run.lengths
        shorter, longer = 128, 1024
        few, many = self.operations(run, points, shorter, longer)
        if many <= 1.2 * few or any(map(is_window, self.start)):
            return run.lengths
        by_token = many - few >= longer - shorter
        return (LOOPED if by_token else CHUNK_LOOPED, SHORT)

    def operations(self, run: Run, points: Points, *lengths: int) -> list[int]:
        """Return how many operations a run of each length has; zeros if the model cannot run."""
        tokens = [name for name in self.takes(run) if name not in BATCHED]
        for depths in _few_layers(self.start):  # a shallow model may lack a kind of layer
            try:
                return [
                    points.dispatched({**self.start, **depths, "B": 2, "B_vis": 3, **dict.fromkeys(tokens, length)})
                    for length in lengths
                ]
            except KeyboardInterrupt:
                raise
            except BaseException:  # noqa: S112 - any error of the traced code: the trace will report it
                continue
        return [0] * len(lengths)

    def attached(self, found: Trace) -> Trace:
        """Return a trace of the stored parameters that can also run the model for any other quantity."""

        @cache
        def points(cached: bool) -> Points:
            """The model called with or without a cache, shared by all quantities."""
            return Points(self.build, self.calls(next(run for run in RUNS.values() if run.cache == cached)))

        @cache
        def lengths_of(cached: bool) -> tuple[tuple[int, ...], ...]:
            return self.lengths(next(run for run in RUNS.values() if run.cache == cached), points(cached))

        held: list[int] = []  # depths at which held tensors were settled: windows may come in patterns

        @cache
        def run(quantity: str) -> Trace:
            """Return the trace at the first lengths that do not bound the formula, or else at the last that worked."""
            if quantity == OPERATIONS:
                return lifted()
            seen = find_quantity(quantity).observed_quantity
            if seen != quantity:
                return run(seen)
            if quantity == found.quantity:
                return whole(found)
            if quantity not in RUNS and self.lift is not None:
                return for_quantity(lifted(), quantity)
            check_measurable(quantity)
            self.admit(quantity, found.model.target)
            if self.like is not None and quantity in LIKE:
                return whole(self.like.for_quantity(quantity))
            bounded: Trace | None = None
            refusal: WitnessError | None = None
            way = RUNS[quantity]
            for lengths in lengths_of(way.cache):
                try:
                    least = max(held, default=0) if way.wanted.held else 0
                    traced = self.trace(found, quantity, lengths, points(way.cache), least)
                except WitnessError as error:
                    refusal = refusal or error
                    if isinstance(error, OutOfTimeError):
                        break
                    continue
                held.extend([traced.depth] * way.wanted.held)
                if not any(isinstance(each, AtMost) and each.because == UP_TO for each in traced.model.constraints):
                    return whole(traced)
                bounded = traced
            if bounded is None:
                assert refusal is not None  # at least one set of lengths was tried
                refusal.args = (f"{refusal}{self.hint}",)
                raise refusal
            return whole(bounded)

        @cache
        def lifted() -> Trace:
            assert self.lift is not None  # only called with one
            return whole(self.lift(found, run("flops"), self))

        def operations() -> Component:
            return lifted().model.component

        facts: dict[str, Any] = {"lifted": operations} if self.lift is not None else {}

        def measure(quantity: str) -> MeasuredModel:
            return cast(MeasuredModel, run(quantity).model.component)

        def whole(trace: Trace) -> Trace:
            known = trace if trace.quantity == "" else with_facts(trace, measure=measure, maker=self.library, **facts)
            attached = replace(known, run=run)
            read = replace(attached.model.provenance, measured=lambda quantity, _: run(quantity).model.provenance)
            if read.reading:
                reading = replace(read.reading, ignored=self.ignored)
                if trace.quantity != STORED:  # the quantity requires a run
                    reading = replace(reading, unread=self.unread, images=self.images)
                read = replace(read, reading=reading)
            return replace(attached, model=replace(attached.model, provenance=read))

        return whole(found)

    def admit(self, quantity: str, target: str) -> None:
        """Raise RuleError if no run measures the quantity, UnbuiltError if the model cannot be run."""
        if self.refusal:
            raise UnbuiltError(self.refusal)
        if quantity == "activations" and not self.library:
            raise RuleError(
                f"activations depend on a named implementation, but {target} is custom code; trace flops or "
                "train-flops instead"
            )


def _depths(found: int, kinds: int) -> tuple[int, ...]:
    """Return the depths to try for a run, the shallowest first; several kinds of layers need at least ``found``."""
    return (found, *(each for each in DEPTHS if each > found)) if kinds > 1 else (SHALLOW, *DEPTHS)


def _few_layers(start: Point) -> Iterator[dict[str, int]]:
    """Yield the numbers of layers of short runs, fewest first, and {} for all layers."""
    for layers in LAYERS:
        if few := {name: layers for name, size in start.items() if DEEP.search(name) and size > layers}:
            yield few
    yield {}


def check_operations(takes: Callable[[Point], int], begin: Point, depth: int, tokens: int) -> None:
    """Raise OutOfTimeError, before a trace starts, if its runs have too many operations.

    Parameters
    ----------
    takes
        Returns the number of operations of a run, or raises if the code rejects the sizes.
    begin
        The initial sizes of the trace.
    depth
        The number of layers with which the stored parameters were found; the code may require a few more.
    tokens
        The length of the run, for the message.

    """
    depths = [depth * times for times in FEWER]
    shallow = [{name: min(size, each) for name, size in begin.items() if DEEP.search(name)} for each in depths]
    for few in (*shallow, {}):
        try:
            operations = takes({**begin, **few})
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: S112 - any error of the traced code: the trace will report it
            continue
        if operations > MOST_OPERATIONS:
            raise OutOfTimeError(
                f"a run of {tokens:,} tokens has {operations:,} operations, because the code loops over the tokens, "
                f"and a trace takes about 100 runs; the limit is {MOST_OPERATIONS:,} operations"
            )
        return


def accepts(takes: Callable[[Point], object], point: Point) -> bool:
    """Return True if a model's code accepts these sizes."""
    try:
        takes(point)
    except KeyboardInterrupt:
        raise
    except BaseException:  # any error of the traced code means no
        return False
    return True


def for_quantity(lifted: Trace, quantity: str) -> Trace:
    """Return the trace of identified operations with the sizes of one quantity. Raises RuleError."""
    model = lifted.model
    component: Any = replace(cast(Any, model.component), asked=quantity)
    sizes = {str(size) for size in model.formula(quantity).dependencies}
    symbols = {letter: name for name, letter in lifted.letters.items() if letter in sizes}
    places = {letter: ConfigLocation(name) for letter, name in symbols.items()}
    provenance = replace(model.provenance, places=places)
    return replace(lifted, model=replace(model, component=component, provenance=provenance), symbols=symbols)


def with_facts(found: Trace, **facts: Any) -> Trace:
    """Return a trace with these facts in its component and with its library in the provenance."""
    component: Any = replace(cast(Any, found.model.component), **facts)
    provenance, library = found.model.provenance, facts.get("maker")
    if library and provenance.reading:
        reading = replace(provenance.reading, versions=releases(library, "torch"))
        provenance = replace(provenance, reading=reading)
    return replace(found, model=replace(found.model, component=component, provenance=provenance))
