"""Tests of config fields: whether one changes what a class stores, multiplies or caches."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from typing import Any

from ..configs.common_fields import INERT
from .config_integers import ConfigIntegers, whole_numbers
from .dispatch_recorders import Rows
from .measured_points import session
from .model_calls import call_spec, caller_for
from .run_traces import RUNS
from .transformers_classes import TracedClass

TOKENS = {"B": 2, "B_vis": 3, "S": 29, "S_enc": 31, "C": 23}
# Effects that a run on shapes alone may not show: which tokens attend to which, and the order of layers.
UNSEEN = re.compile("attention|attn|causal|mask|window|chunk|local|block|sparse|stride|layer_types|pattern|decoder")
SEEN = re.compile("heads$|^is_encoder_decoder$")  # these show in the shapes of products, or in a cache
SCALES = re.compile("drop|scal|multiplier|softcap|temperature")  # factors of every element
ACTS = re.compile("(^|_)act(ivation)?(_fn|_function)?$")
FAR = 64  # factor for a number without effect: a lower bound of a width has an effect only above the width
AGREE = 2  # tests that must show no effect if the class rejects others
FUNCTIONS = ("relu", "gelu", "silu")
OLDER = {"rope_theta": 5000.0, "rope_scaling": {"rope_type": "linear", "factor": 2.0}}  # as in older config files
ROPE = ("rope_scaling", "rope_parameters")
ROTARY = "rotary"  # the sort of their values
Told = tuple[Rows, Rows, Rows]


class FieldTrials:
    """A class of transformers, tested with one config after another."""

    def __init__(self, source: TracedClass) -> None:
        self.source = source
        self.default = source.config({})
        self.placing = ConfigIntegers(self.default)
        self.usual = self.said({})

    def filled(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """Return a point with all fields of each part that it mentions, because missing fields may change others."""
        parts = {name.partition(".")[0] for name in point if "." in name}
        return {name: value for name, value in self.usual.items() if name.partition(".")[0] in parts} | dict(point)

    def fields(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of the config class for these changes to the defaults."""
        return self.placing.placed({}, point)

    def config(self, point: Mapping[str, Any]) -> Any:
        """Return the config with these changes."""
        return self.source.config(self.fields(point))

    def said(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """Return every field of a config, with paths for fields of parts and indices for lists of sizes."""
        return self._said(self.config(point))

    def said_of(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the same for the unchanged arguments of the config class."""
        return self._said(self.source.config(fields))

    def _said(self, made: Any) -> dict[str, Any]:
        numbers = whole_numbers(made)
        found: dict[str, Any] = {}
        for name, value in deepcopy(made.to_dict()).items():  # a class may write into its own defaults
            if isinstance(value, dict) and name in self.parts():
                found |= {f"{name}.{inner}": each for inner, each in value.items()}
            else:
                found[name] = value
        for name, length in lists(numbers).items():
            if found.pop(name, None) is not None:
                found |= {f"{name}[{place}]": numbers[f"{name}[{place}]"] for place in range(length)}
        return found

    def parts(self) -> list[str]:
        """Return the fields of a config that are configs themselves."""
        return [name for name in self.default.sub_configs if hasattr(getattr(self.default, name, None), "sub_configs")]

    def told(self, point: Mapping[str, Any]) -> Told | None:
        """Return the stored, multiplied and cached amounts of the class with these fields, or None if it rejects them.

        If a class cannot be run, only the stored parameters are compared.
        """
        return self.told_of(lambda: self.fields(point))

    def told_of(self, made: Callable[[], Mapping[str, Any]]) -> Told | None:
        """Return the same for the arguments of the config class."""
        way = call_spec(self.source)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if (stored := self._stored(made)) is None:
                return None
            multiplied: Rows = {}
            kept: Rows = {}
            given = made()
            with suppress(Exception):  # the class cannot be called in a known way
                at = session(lambda _: self.source.build(given), {})
                run, cached = caller_for(way, RUNS["flops"]), caller_for(way, RUNS["kv-cache"])
                multiplied = at.products(lambda model: run(model, TOKENS)).rows
                kept = at.cached(lambda model: cached(model, TOKENS))
        return stored, multiplied, kept

    def trained(self, point: Mapping[str, Any]) -> Rows | None:
        """Return the products of a forward and backward pass with these fields, or None if it fails."""
        with warnings.catch_warnings(), suppress(Exception):  # any error of the traced code
            warnings.simplefilter("ignore")
            given, run = self.fields(point), caller_for(call_spec(self.source), RUNS["train-flops"])
            at = session(lambda _: self.source.build(given), {})
            return at.products(lambda model: run(model, TOKENS), backward=True).rows
        return None

    def runs(self, point: Mapping[str, Any]) -> bool:
        """Return True if the class can be built and run with these fields."""
        run = caller_for(call_spec(self.source), RUNS["flops"])
        with warnings.catch_warnings(), suppress(Exception):  # any error of the traced code
            warnings.simplefilter("ignore")
            given = self.fields(point)
            return bool(session(lambda _: self.source.build(given), {}).products(lambda model: run(model, TOKENS)).rows)
        return False

    def stored(self, point: Mapping[str, Any]) -> Rows | None:
        """Return the stored parameters with these fields, or None if the class rejects them."""
        return self._stored(lambda: self.fields(point))

    def _stored(self, made: Callable[[], Mapping[str, Any]]) -> Rows | None:
        with suppress(Exception):  # any error of the traced code: there is no such structure
            given = made()
            return session(lambda _: self.source.build(given), {}).stored()
        return None

    def inert(self, fields: Mapping[str, Any], beside: Mapping[str, Any], before: Told | None) -> dict[str, list[Any]]:
        """Return those fields that have no effect, with the tested values."""

        def same(said: Mapping[str, Any]) -> bool | None:
            told = self.told(self.filled({**beside, **said}))
            if told is None or before is None or (before[1] and not told[1] and told[0] == before[0]):
                return None  # the class cannot be built or run with it
            return told == before

        seen = (name for name in fields if not UNSEEN.search(name) or SEEN.search(name) or SCALES.search(name))
        found = inert_subset({name: other_values(name, fields[name]) for name in seen}, same)
        # Reading another layer or freezing weights shows only in a backward pass.
        trained = self.trained(self.filled(beside)) if found else None
        if trained is None:
            return found

        def trains(said: Mapping[str, Any]) -> bool | None:
            told = self.trained(self.filled({**beside, **said}))
            return None if told is None else told == trained

        held = inert_subset({name: said[-1:] for name, said in found.items()}, trains)
        return {name: said for name, said in found.items() if name in held}

    def as_stored(self, fields: Mapping[str, Any], beside: Mapping[str, Any]) -> dict[str, list[Any]]:
        """Return those fields that have no effect on the stored parameters, with the tested values."""
        before = self.stored(self.filled(beside))

        def same(said: Mapping[str, Any]) -> bool | None:
            stored = self.stored(self.filled({**beside, **said}))
            return None if stored is None or before is None else stored == before

        return inert_subset({name: other_values(name, value) for name, value in fields.items()}, same)


def inert_subset(
    asked: Mapping[str, Sequence[Any]], same: Callable[[Mapping[str, Any]], bool | None]
) -> dict[str, list[Any]]:
    """Return the fields whose values have no effect unless rejected, tested all together and then by bisection."""
    found: dict[str, list[Any]] = {name: [] for name in asked}

    def tried(names: Sequence[str], turn: int) -> None:
        said = {name: asked[name][turn] for name in names}
        told = same(said)
        if told:
            for name in names:
                found[name].append(said[name])
        elif len(names) > 1:
            tried(names[: len(names) // 2], turn)
            tried(names[len(names) // 2 :], turn)
        elif told is False:
            del found[names[0]]

    for turn in range(max(map(len, asked.values()), default=0)):
        if names := [name for name in found if turn < len(asked[name])]:
            tried(names, turn)
    return {name: said for name, said in found.items() if said and len(said) >= min(AGREE, len(asked[name]))}


def lists(numbers: Mapping[str, int]) -> dict[str, int]:
    """Return the fields of a config that list sizes, with their lengths."""
    found: dict[str, int] = {}
    for name in numbers:
        if name.endswith("]"):
            field = name.rpartition("[")[0]
            found[field] = found.get(field, 0) + 1
    return found


def other_values(name: str, value: Any) -> list[Any]:
    """Return other values of a field to test, or [] if none are known."""
    last = name.rpartition(".")[2]
    if last in INERT:
        return []
    match value:
        case bool():
            return [not value]
        case float():
            return [value / 2, value / 2 + 0.125, *([0.0] if value else [])]
        case int():
            few = [1, 2, 3, value // 4, value // 2, value - 1, value + 1, 2 * value, 2 * value + 3, FAR * value + 5]
            return [each for each in dict.fromkeys(few) if each not in (0, value)]
        case str() if ACTS.search(last):
            return [each for each in FUNCTIONS if each != value]
    if last in ROPE:
        return [{"rope_type": "linear", "factor": 2.0, "rope_theta": 5000.0}]
    return []


def holds(name: str, value: Any) -> str:
    """Return the sort of the values of a field without effect, as the catalogue distinguishes them."""
    last = name.rpartition(".")[2]
    named = ROTARY if last in ROPE else "function" if ACTS.search(last) else ""
    return named if named and not isinstance(value, bool) else type(value).__name__
