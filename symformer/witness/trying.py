"""What the fields of a config do, by trial: whether one changes anything that a class stores, multiplies or caches."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from typing import Any

from ..configs.known import INERT
from .calling import called, caller_for
from .classes import Source
from .placing import Placing, whole_numbers
from .points import session
from .runs import RUNS
from .watching import Rows

TOKENS = {"B": 2, "B_vis": 3, "S": 29, "S_enc": 31, "C": 23}
# What a run on shapes alone may not show: who attends to whom, and in which order layers come.
UNSEEN = re.compile("attention|attn|causal|mask|window|chunk|local|block|sparse|stride|layer_types|pattern|decoder")
SEEN = re.compile("heads$|^is_encoder_decoder$")  # these would show in the shapes of products, or in a cache
SCALES = re.compile("drop|scal|multiplier|softcap|temperature")  # what every element is multiplied by
ACTS = re.compile("(^|_)act(ivation)?(_fn|_function)?$")
FAR = 64  # times a number that counts nothing: some are the least that a width may be, and tell where they are above it
AGREE = 2  # trials that have to show nothing, where a class refuses others
FUNCTIONS = ("relu", "gelu", "silu")
OLDER = {"rope_theta": 5000.0, "rope_scaling": {"rope_type": "linear", "factor": 2.0}}  # as files once had them
ROPE = ("rope_scaling", "rope_parameters")
ROTARY = "rotary"  # what these hold
Told = tuple[Rows, Rows, Rows]


class Trials:
    """A class of transformers, asked with one config after another."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.default = source.config({})
        self.placing = Placing(self.default)
        self.usual = self.said({})

    def filled(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """With some fields of a part all others of it, as they usually are: alone they may be something else."""
        parts = {name.partition(".")[0] for name in point if "." in name}
        return {name: value for name, value in self.usual.items() if name.partition(".")[0] in parts} | dict(point)

    def fields(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """What the config class is given where these are not as usual."""
        return self.placing.placed({}, point)

    def config(self, point: Mapping[str, Any]) -> Any:
        """The config with these."""
        return self.source.config(self.fields(point))

    def said(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """Every field of a config, those of its parts by their paths, and those of lists of sizes by their places."""
        return self._said(self.config(point))

    def said_of(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The same of the fields that the config class is given as they are."""
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
        """The fields of a config that hold configs themselves."""
        return [name for name in self.default.sub_configs if hasattr(getattr(self.default, name, None), "sub_configs")]

    def told(self, point: Mapping[str, Any]) -> Told | None:
        """What the class stores, multiplies and caches with these fields; None where it refuses them.

        A class that cannot be run is told by what it stores.
        """
        return self.told_of(lambda: self.fields(point))

    def told_of(self, made: Callable[[], Mapping[str, Any]]) -> Told | None:
        """The same of the fields that the config class is given."""
        way = called(self.source)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if (stored := self._stored(made)) is None:
                return None
            multiplied: Rows = {}
            kept: Rows = {}
            given = made()
            with suppress(Exception):  # it runs in no way that is known here
                at = session(lambda _: self.source.build(given), {})
                run, cached = caller_for(way, RUNS["flops"]), caller_for(way, RUNS["kv-cache"])
                multiplied = at.products(lambda model: run(model, TOKENS)).rows
                kept = at.cached(lambda model: cached(model, TOKENS))
        return stored, multiplied, kept

    def trained(self, point: Mapping[str, Any]) -> Rows | None:
        """What the class multiplies forward and backward with these fields; None where it cannot be trained so."""
        with warnings.catch_warnings(), suppress(Exception):  # whatever somebody's code raises
            warnings.simplefilter("ignore")
            given, run = self.fields(point), caller_for(called(self.source), RUNS["train-flops"])
            at = session(lambda _: self.source.build(given), {})
            return at.products(lambda model: run(model, TOKENS), backward=True).rows
        return None

    def stored(self, point: Mapping[str, Any]) -> Rows | None:
        """What the class stores with these fields; None where it refuses them."""
        return self._stored(lambda: self.fields(point))

    def _stored(self, made: Callable[[], Mapping[str, Any]]) -> Rows | None:
        with suppress(Exception):  # whatever somebody's code raises, it is no structure
            given = made()
            return session(lambda _: self.source.build(given), {}).stored()
        return None

    def idle(self, fields: Mapping[str, Any], beside: Mapping[str, Any], before: Told | None) -> dict[str, list[Any]]:
        """Of these fields those that change nothing, with what they said."""

        def same(said: Mapping[str, Any]) -> bool | None:
            told = self.told(self.filled({**beside, **said}))
            if told is None or before is None or (before[1] and not told[1] and told[0] == before[0]):
                return None  # the class refuses it, to be made or to be run
            return told == before

        seen = (name for name in fields if not UNSEEN.search(name) or SEEN.search(name) or SCALES.search(name))
        found = unmoved({name: others(name, fields[name]) for name in seen}, same)
        # A layer that is read instead of another, or weights that are frozen, show in a backward pass alone.
        trained = self.trained(self.filled(beside)) if found else None
        if trained is None:
            return found

        def trains(said: Mapping[str, Any]) -> bool | None:
            told = self.trained(self.filled({**beside, **said}))
            return None if told is None else told == trained

        held = unmoved({name: said[-1:] for name, said in found.items()}, trains)
        return {name: said for name, said in found.items() if name in held}

    def as_stored(self, fields: Mapping[str, Any], beside: Mapping[str, Any]) -> dict[str, list[Any]]:
        """Of these fields those that change nothing that is stored, with what they said."""
        before = self.stored(self.filled(beside))

        def same(said: Mapping[str, Any]) -> bool | None:
            stored = self.stored(self.filled({**beside, **said}))
            return None if stored is None or before is None else stored == before

        return unmoved({name: others(name, value) for name, value in fields.items()}, same)


def unmoved(
    asked: Mapping[str, Sequence[Any]], same: Callable[[Mapping[str, Any]], bool | None]
) -> dict[str, list[Any]]:
    """Of fields those that may say what is asked of them and not refused; all together first, and then by halves."""
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
    """The fields of a config that list sizes, and how many."""
    found: dict[str, int] = {}
    for name in numbers:
        if name.endswith("]"):
            field = name.rpartition("[")[0]
            found[field] = found.get(field, 0) + 1
    return found


def others(name: str, value: Any) -> list[Any]:
    """What else a field may say, to try; nothing for one of which nobody knows."""
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
    """What a field that changes nothing holds, of what the catalogue tells apart."""
    last = name.rpartition(".")[2]
    named = ROTARY if last in ROPE else "function" if ACTS.search(last) else ""
    return named if named and not isinstance(value, bool) else type(value).__name__
