"""The census: the trace of one quantity of every model type that transformers has, with each of its heads."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, TextIO

import torch

from ..catalogue.lifted import Lifted
from ..catalogue.store import digest
from ..catalogue.traced import Traced
from ..formulas.account import Measure
from ..language.errors import DocumentError, UnknownNameError, WitnessError
from ..ledger.facts import Kind
from ..quantities import quantity as find_quantity
from .classes import first_heads, of_head, types
from .crew import Lost, crew
from .drawing import ENTRY, usual
from .placing import PLACES, whole_numbers
from .raised import sentence
from .results import Trace, UnbuiltError
from .sources import trace_type

OURS = json.dumps(
    {"kept by": "symformer census", "until": "all its results are there"}
)  # the first line of such a file
USUAL_HEADS = ("causal", "masked", "seq2seq")
LIMITS = {"params": 90}  # seconds for one trace
LIMIT = 600  # seconds for one that runs the model
# Per cent of the models that build: of the parameters with every usual size a symbol, of the others with a formula.
BARS = {"params": 95, "flops": 90}


@dataclass(frozen=True)
class Surveyed:
    """What came of one model type with one head."""

    model_type: str
    head: str
    formula: str = ""  # as arithmetic, and for people
    text: str = ""
    symbols: Mapping[str, str] = field(default_factory=dict)  # letter -> config field
    pinned: Sequence[Mapping[str, Any]] = ()  # name, value and why of each size that stayed a number
    ties: Mapping[str, str] = field(default_factory=dict)  # a size that the code takes only where it is another
    conditions: Sequence[str] = ()  # under which the formula holds
    untried: Sequence[str] = ()  # usual sizes that the trace does not reach
    checked: int = 0  # fresh random configs at which it is exact
    why: str = ""  # there is no formula
    builds: bool = True  # from its own default config; where a run is asked for, and runs
    lift: Mapping[str, Any] = field(default_factory=dict)  # which operations were recognised, where that was asked for
    seconds: float = 0
    once: float = 0  # seconds that transformers takes to build it

    @property
    def numbers_left(self) -> list[str]:
        """The usual sizes that stayed numbers."""
        return [*(each["name"] for each in self.pinned if usual(each["name"])), *self.untried]

    @property
    def lifted(self) -> bool:
        """Whether every row was recognised as an operation."""
        return bool(self.lift.get("confirmed")) and not self.lift["observed"]

    @property
    def whole(self) -> bool:
        """Whether there is a formula in which every usual size is a symbol."""
        return bool(self.formula) and not self.numbers_left


@dataclass(frozen=True)
class Census:
    """Every entry, and with what it was made."""

    entries: Sequence[Surveyed]
    versions: Mapping[str, str]
    quantity: str = "params"

    @property
    def measure(self) -> Measure:
        """What was asked of every model."""
        return find_quantity(self.quantity).measure

    @property
    def bar(self) -> int:
        """The share that is asked for of language models; 0 where none is."""
        return BARS.get(self.quantity, 0) if all(each.head in USUAL_HEADS for each in self.entries) else 0

    @property
    def does(self) -> str:
        """What a model has to do from its own default config to be counted among those that could be traced."""
        return "build" if self.quantity == "params" else "run"

    @property
    def built(self) -> list[Surveyed]:
        return [each for each in self.entries if each.builds]

    @property
    def traced(self) -> list[Surveyed]:
        return [each for each in self.entries if each.formula]

    @property
    def whole(self) -> list[Surveyed]:
        return [each for each in self.entries if each.whole]

    @property
    def share(self) -> float:
        """The models with a formula, of the parameters a whole one, per cent of those that build."""
        return 100 * len(self.whole if self.quantity == "params" else self.traced) / max(1, len(self.built))

    @property
    def ratio(self) -> float:
        """The median, over the models traced, of the time of a trace over that of building the model once."""
        return median([each.seconds / each.once for each in self.traced if each.once] or [0])

    def to_json(self) -> dict[str, object]:
        return {
            "quantity": self.quantity,
            "versions": dict(self.versions),
            "models": len(self.entries),
            "build": len(self.built),
            "traced": len(self.traced),
            "whole": len(self.whole),
            "share": round(self.share, 1),
            "ratio": round(self.ratio, 1),
            "entries": [{**asdict(each), "kept": each.numbers_left} for each in self.entries],
        }


def pairs(heads: Sequence[str], only: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Every model type with a head, its first where none is asked for; or those named. Raises UnknownNameError."""
    found = [(name, head) for head in heads for name in types(head)] if heads else first_heads()
    for name in only:
        if not any(name == model_type for model_type, _ in found):
            asked = f"{' or '.join(heads)} model type".strip()
            raise UnknownNameError(asked, name, [model_type for model_type, _ in found])
    return [pair for pair in found if pair[0] in only or not only]


def versions() -> dict[str, str]:
    """Of all that a formula depends on."""
    return {name: version(name).partition("+")[0] for name in ("symformer", "torch", "transformers")}


def census(
    jobs: Sequence[tuple[str, str]],
    workers: int,
    limit: float,
    place: Path,
    tell: Callable[[int], None] = lambda done: None,
    work: Callable[[str, str], Surveyed] | None = None,
    quantity: str = "params",
    lifts: bool = False,
) -> Census:
    """The entry of every job, a model type and a head.

    Each is appended to the file ``place`` as it comes, and taken from there by a run that goes on where another was
    stopped; the file is gone when all are there. ``tell`` is told how many are done. Raises DocumentError.
    """
    made_with = versions()
    stamp = {"versions": made_with, "code": digest(), "limit": limit, "quantity": quantity, "lifts": lifts}
    try:
        with _opened(place) as file:
            done = {pair: entry for pair, entry in _read(file, stamp).items() if pair in set(jobs)}
            for number in range(len(done)):
                tell(number + 1)

            def keep(entry: Surveyed) -> None:
                done[entry.model_type, entry.head] = entry
                file.write(json.dumps({"of": stamp, "entry": asdict(entry)}) + "\n")
                file.flush()
                tell(len(done))

            rest = [job for job in jobs if job not in done]
            with closing(
                crew(work or partial(survey, quantity=quantity, lifts=lifts), rest, workers, limit)
            ) as answers:
                for (model_type, head), answer in answers:
                    if isinstance(answer, Lost):
                        keep(Surveyed(model_type, head, why=answer.why, seconds=answer.seconds))
                    else:
                        keep(answer)
            if os.path.samestat(os.fstat(file.fileno()), place.lstat()):  # still the file that was opened
                place.unlink()
    except OSError as error:
        raise DocumentError(f"{place} cannot be written: {error.strerror}") from None
    return Census([done[job] for job in jobs], made_with, quantity)


def survey(model_type: str, head: str, quantity: str = "params", lifts: bool = False) -> Surveyed:
    """One trace, timed beside one plain build of the same class; and its lift, where that is asked for."""
    torch.set_num_threads(1)
    once = _once(model_type, head)
    begun = perf_counter()
    try:
        traced = trace_type(model_type, head)
        found = traced.of(quantity)
    except WitnessError as error:
        seconds, builds = perf_counter() - begun, not isinstance(error, UnbuiltError)
        return Surveyed(model_type, head, why=str(error), builds=builds, seconds=seconds, once=once)
    seconds, formula = perf_counter() - begun, found.model.formula(quantity)
    return Surveyed(
        model_type,
        head,
        formula=formula.code(),
        text=formula.text(),
        symbols=found.symbols,
        pinned=[asdict(each) for each in found.pinned],
        ties={name: str(tie) for name, tie in found.ties.items()},
        conditions=found.conditions,
        untried=_untried(model_type, head),
        checked=len(found.checked),
        lift=_lift(traced) if lifts else {},
        seconds=seconds,
        once=once,
    )


def _lift(traced: Trace) -> Mapping[str, Any]:
    """Which operations were recognised, which rows were not, and what torch then counts alike."""
    component = traced.model.component
    assert isinstance(component, Traced)
    assert component.lifted is not None
    try:
        lifted = component.lifted()
    except Exception as error:  # whatever somebody's code raises
        return {"why": sentence(error)}
    assert isinstance(lifted, Lifted)
    observed, products = (
        [entry.path for _, entry in lifted.rows if entry.kind is kind] for kind in (Kind.OBSERVED, Kind.PRODUCT)
    )
    return {
        "observed": observed,
        "products": products,
        "confirmed": dict(lifted.confirmed),
        "refused": dict(lifted.refusals),
    }


def _untried(model_type: str, head: str = "") -> list[str]:
    """The usual sizes of a config that are lists, or stand where the trace does not look."""
    config = of_head(model_type, head).config_class()
    tried = {ENTRY.sub("", name) for name in whole_numbers(config)}

    def sizes(config: Any) -> Iterator[str]:
        for name, value in vars(config).items():
            if name in config.sub_configs and hasattr(value, "sub_configs"):
                yield from (f"{name}.{inner}" for inner in sizes(value))
            elif usual(name) and (value if type(value) is int else isinstance(value, list) and not PLACES.search(name)):
                yield name

    return [name for name in sizes(config) if name not in tried]


def _once(model_type: str, head: str) -> float:
    """The seconds that transformers takes to build a model on meta when everything is imported; 0 where it cannot."""
    try:
        with torch.device("meta"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            source = of_head(model_type, head)
            for _ in range(2):  # the first imports and warms up
                config = source.config_class()
                begun = perf_counter()
                source.model_class(config)
                seconds = perf_counter() - begun
    except Exception:  # whatever somebody's code raises: the trace says what
        return 0
    return seconds


def _opened(place: Path) -> TextIO:
    """The file in which results are kept: a new one, or one that a census left. Raises DocumentError and OSError."""
    try:
        new = place.open("x+", encoding="utf-8")
    except FileExistsError:
        if place.is_symlink() or not place.is_file():
            raise _foreign(place) from None
    else:
        new.write(OURS + "\n")
        new.flush()
        return new
    old = place.open("r+", encoding="utf-8")
    with suppress(UnicodeDecodeError):
        if old.readline() == OURS + "\n":
            return old
    old.close()
    raise _foreign(place)


def _foreign(place: Path) -> DocumentError:
    return DocumentError(
        f"{place} is there and was written by no census, which keeps its results in a file of that name until it is "
        "done: move it away, or name another page with -o"
    )


def _read(file: TextIO, stamp: Mapping[str, object]) -> dict[tuple[str, str], Surveyed]:
    """The entries that a run before left, where the same code made them; what comes next is written after them."""
    found = {}
    file.seek(0)
    lines = file.read().split("\n")
    for line in lines[1:]:
        try:
            facts = json.loads(line)
            if facts["of"] == stamp:
                entry = Surveyed(**facts["entry"])
                found[entry.model_type, entry.head] = entry
        except (ValueError, KeyError, TypeError):  # a line that was cut off: done again
            continue
    if lines[-1]:  # it was cut off, and ends here
        file.write("\n")
    return found
