"""Lifts: the model of a trace is run, its rows are read as operations, and their formulas are checked against torch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import cast

from sympy import Expr, Symbol

from ..catalogue.measured_model import MeasuredModel
from ..catalogue.recognized_model import CHUNKS, OTHERWISE, RecognizedModel
from ..language.errors import SizeError, SymformerError, WitnessError
from ..language.shape_lines import Shape
from ..language.sizes import Condition, Equals, without_implied
from ..language.symbols import C, named_symbol
from ..output.status_line import status_line
from .error_messages import sentence
from .interpolation import Point
from .measured_points import session
from .recognition import Observation, Observations, Recognizer, Trained
from .recognition.latents import decode_products, from_latents
from .recognition.observations import Numbers, Row, number
from .recognition.observed_run import Calls, numbers_at, sight_at, trained_at, with_dependent_sizes
from .recognition.recognition_check import NEW, RecognitionCheck, active_weights
from .recognition.tiny_run import deep_point, real_sight, tiny_point
from .run_traces import RUNS, Runner
from .sampling import BLOCK, DEEP, POSITIONS, is_window
from .trace_result import SizeTie, Trace
from .tracer import whole_conditions

# The quantities to check against torch, each by its own run or its own tensors.
CHECKED = (
    *("params", "active-params", "flops", "train-flops", "prefill-flops", "decode-flops", "kv-cache"),
    *("inference-memory", "generation-flops"),
)
CACHED = ("kv-cache", "decode-flops", "inference-memory", "generation-flops")
CACHES = (23, 41, 62)  # tokens in a cache, below and above WINDOWS
WINDOWS = (17, 71, 29)
FAR = 20_000  # tokens; a longer run takes too much time


def lift(stored: Trace, products: Trace, runner: Runner) -> Trace:
    """Return the model of a trace with its operations identified, and the quantities for which torch agrees.

    Raises WitnessError if the model cannot be run.
    """
    try:
        with status_line(f"identifying the operations of {stored.model.target}"):
            return _lift(stored, products, runner)
    except (SymformerError, KeyboardInterrupt):
        raise
    except BaseException as error:  # any error of the traced code
        raise WitnessError(f"cannot identify the operations of {stored.model.target}: {sentence(error)}") from None


def _lift(stored: Trace, products: Trace, runner: Runner) -> Trace:
    calls = Calls(runner.build, runner.calls(RUNS["flops"]), runner.calls(RUNS["kv-cache"]))
    component = cast(MeasuredModel, products.model.component)
    letters = {name: named_symbol(letter) for name, letter in products.letters.items()}
    products = replace(products, checked=tuple(with_dependent_sizes(products, point) for point in products.checked))
    sights = [sight_at(calls, point, letters) for point in products.checked]
    windows = {name: named_symbol(size) for name, size in _windows(runner, products).items()}
    letters |= windows
    point = tiny_point(calls, products, windows)
    real = real_sight(calls, point, letters)

    def whole() -> bool:
        """Return True if every layer of a deep model caches every token, regardless of windows."""
        if calls.cached is None:
            return False
        far = {**deep_point(point), "C": max(CACHES)}
        rows = session(calls.build, far).cached(partial(calls.cached, point=far))
        return {shape[2] for name, shape in rows.items() if name.endswith(".keys")} == {max(CACHES)}

    def deep() -> Observation | None:
        return real_sight(calls, deep_point(point), letters)

    def cached() -> MeasuredModel:
        return cast(MeasuredModel, products.for_quantity("kv-cache").model.component)

    def trained() -> Trained | None:
        return trained_at(calls, products.checked[0], letters)

    held = cast(MeasuredModel, stored.model.component)
    same = {named_symbol(each): tie.expr(letters) for each, tie in _ties(products, letters)}
    same |= {each.size: each.value for each in component.conditions if isinstance(each, Equals)}
    counts = {(path, _known(shape, same)): _known(often, same) for (path, shape), often in held.counts.items()}
    reader = Recognizer(
        Observations(
            replace(held, counts=counts), component, sights, real, list(windows.values()), cached, trained, deep, whole
        )
    )
    rows = reader.rows()
    rounds = whole_conditions(each for counts, _ in rows for each in counts)
    lifted = RecognizedModel(
        title=component.title,
        stem=component.stem,
        rows=rows,
        conditions=without_implied((*component.conditions, *rounds)),
        maker=component.maker,
        confirmed=dict.fromkeys(CHECKED, 0),
    )
    points = [
        {
            **_deep(point, rounds, letters),
            **({"C": c + _longest(rows, numbers_at(point, letters))} if calls.cached else {}),
            **dict.fromkeys(windows, w),
        }
        for point, c, w in zip(products.checked, CACHES, WINDOWS, strict=True)
    ][: None if runner.like is None else 1]  # the other structure's products were checked at all points

    # Structures with equal products and caches share one comparison with torch at this config.
    own = _own(runner, products.checked[0], bool(calls.cached)) if runner.like is None else None

    def hold(lifted: RecognizedModel) -> dict[str, str]:
        """Return for each quantity why it is refused, or "" if torch agrees."""
        check = RecognitionCheck(replace(products.model, component=lifted), calls, points, letters)
        if own is not None and _fits(lifted, numbers_at(own, letters)):
            check.at_config(own, letters, _past(runner.start))
        for sight in sights:
            check.hold("active-params", sight.numbers, partial(active_weights, sight, check.owners))
        if check.said.get("kv-cache") == "":
            shallow = {name: size for name, size in products.checked[0].items() if DEEP.search(name)}
            whole = {name: runner.start[name] for name in shallow if name in runner.start}
            # The first layers may all have a window that deeper layers do not have.
            for depths in (shallow, *([whole] if windows else [])):
                if why := check.beyond({**runner.start, **_deep(depths, rounds, letters)}, letters):
                    check.said |= dict.fromkeys(CACHED, why)
        return check.said

    said = hold(lifted)
    if said.get("kv-cache", "").startswith(OTHERWISE):
        with suppress(SymformerError):
            numbers = {**numbers_at(points[0], letters), C: points[0]["C"]}
            again = replace(lifted, rows=from_latents(rows, decode_products(calls, points[0]), numbers, cached()))
            if again.rows != rows and not (better := hold(again)).get("kv-cache"):
                lifted, said = again, better
    if real is not None and any(each and each.chunk for seen in real.seen.patterns.values() for each in seen):
        said |= {name: CHUNKS for name in CACHED if said.get(name)}
    for name in CHECKED:  # quantities that were not checked depend on a refused one
        said.setdefault(name, said.get("kv-cache") or said.get("decode-flops") or "this model keeps no cache")
    confirmed = {name: len(points) for name, why in said.items() if not why}
    refusals = {name: why for name, why in said.items() if why}
    lifted = replace(lifted, confirmed=confirmed, refusals=refusals)
    named = {name: str(size) for name, size in letters.items()} | ({"C": "C"} if calls.cached else {})
    model = replace(products.model, component=lifted)
    return replace(products, model=model, checked=tuple(points), letters={**products.letters, **named})


def _own(runner: Runner, drawn: Point, cached: bool) -> Point | None:
    """Return the config's own sizes and depth, with at most as many tokens as its position table has rows.

    Returns None if the table has too few rows to generate tokens.
    """
    rows = [size for name, size in runner.start.items() if POSITIONS.search(name)]
    most = min(rows, default=drawn.get("S", 0) + CACHES[0])
    if most <= NEW:
        return None
    lengths = {name: min(size, most) for name, size in drawn.items() if name in ("S", "S_enc")}
    return {**drawn, **runner.start, **lengths, **({"C": min(CACHES[0], most - NEW)} if cached else {})}


def _fits(lifted: RecognizedModel, numbers: Mapping[Symbol, int]) -> bool:
    """Return whether sizes satisfy all conditions of a model; its formulas do not cover other sizes."""
    try:
        for condition in lifted.constraints:
            condition.check(numbers)
    except SizeError:
        return False
    return True


def _past(start: Point) -> int:
    """Return a number of tokens that is larger than every window and chunk of a config, up to FAR; 0 without any."""
    spans = [size for name, size in start.items() if (is_window(name) or BLOCK.search(name)) and size < FAR]
    return max(spans) + CACHES[0] if spans else 0


def _longest(rows: Sequence[Row], numbers: Numbers) -> int:
    """Return the largest kernel of a causal convolution: a shorter prompt is padded before it is cached."""
    kernels = [entry.weights[0].shape[2] for _, entry in rows if entry.causal]
    return max((number(each, numbers) or 0 for each in kernels), default=0)


def _known(shape: Shape, same: Mapping[Symbol, Expr]) -> Shape:
    """Return a shape, or numbers of copies, in the sizes that a run leaves free."""
    return tuple(dim.xreplace(same) for dim in shape)


def _windows(runner: Runner, trace: Trace) -> dict[str, str]:
    """Return the sizes of a config that may be windows, with their letters."""
    names = [name for name in runner.start if is_window(name)]
    known = runner.letters([*trace.letters, *names])
    return {name: str(known[name]) for name in names}


def _deep(point: Point, conditions: Sequence[Condition], letters: Mapping[str, Symbol]) -> Point:
    """Return a point with as many layers as these conditions require."""
    layers = [name for name in point if name in letters and DEEP.search(name)]
    for more in range(13):
        deeper = {**point, **{name: point[name] + more for name in layers}}
        try:
            for condition in conditions:
                condition.check(numbers_at(deeper, letters))
        except SizeError:
            continue
        return deeper
    return point


def _ties(trace: Trace, letters: Mapping[str, Symbol]) -> Iterator[tuple[str, SizeTie]]:
    """Yield the letters of sizes that a run requires to equal others."""
    for name, tie in trace.ties.items():
        if name in letters and tie.powers.keys() <= letters.keys():
            yield str(letters[name]), tie
