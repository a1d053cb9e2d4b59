"""The values of each config field that have no effect, found by trying several values of every sort.

A field that the code of a class may read is tried at several values of each sort, with all other fields at their
defaults and with all switches set. If the stored, multiplied and cached tensors do not change, no value of that
sort has an effect; if only the stored parameters stay the same, this is recorded separately.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ..catalogue.config_match import CHECKPOINTING, common_field_names
from ..catalogue.entries import (
    CLASS_FIELDS,
    KINDS,
    NAMED,
    PER_LAYER,
    PLACED,
    ClassConfig,
    counted_kinds,
    field_name,
    part_of,
)
from ..configs.common_fields import INERT
from .config_integers import PLACES
from .fields_read import keyword_names
from .inert_fields import ACTS, FUNCTIONS, ROPE, ROTARY, SCALES, SEEN, UNSEEN, FieldTrials, inert_subset
from .sampling import is_window
from .transformers_classes import TracedClass

# Layer kinds that differ only in which tokens they attend to, and two names of one kind.
ATTENDING = ("full_attention", "sliding_attention")
ALIKE = (ATTENDING, ("indexed_attention", "deepseek_sparse_attention"))
PATTERN = "override_pattern"
TIED = "tie_word_embeddings"  # also a field of parts, but only the whole model determines it
PARTIAL = "partial_rotary_factor"
MENTIONED = ("ignore_index", "size")  # fields of published configs that the code also uses as other words
REDUCTIONS = {"ctc_loss_reduction": ("mean", "sum")}  # the words that a field can have
ODD = 7919  # a value that no config has by default
EMPTY = "empty"  # an empty list, which a class may treat like no list
PART = "rotary part"  # the rotary part of a head, which changes no weight but may change a run
THETA = "rope_theta"
LINEAR = {"rope_type": "linear", "factor": 2.0, THETA: 5000.0}
YARN = {"rope_type": "yarn", "factor": 4.0, THETA: 5000.0, "original_max_position_embeddings": 64}


@dataclass
class FreedFields:
    """The tested fields, with the sorts of values without any effect or without effect on stored parameters."""

    inert: dict[str, list[str]] = field(default_factory=dict)
    stored: dict[str, list[str]] = field(default_factory=dict)


class FieldSorts:
    """Tests of one class's fields other than sizes and switches, one sort of value after another."""

    def __init__(
        self, source: TracedClass, trials: FieldTrials, entry: ClassConfig, settings: Sequence[Mapping[str, Any]]
    ) -> None:
        self.source, self.trials, self.entry, self.settings = source, trials, entry, settings
        self.layers = {part: _depth(settings, trials.usual, name) for part, name in entry.list_depths.items()}
        self.usual_layers = {part: entry.sizes.get(name, 0) for part, name in entry.list_depths.items()}
        if kinds := counted_kinds(entry):
            part = part_of(kinds[0])
            self.layers[part] = sum(_depth(settings, trials.usual, name) for name in kinds)
            self.usual_layers[part] = sum(entry.sizes[name] for name in kinds)

    def found(self, fields: Mapping[str, Any]) -> FreedFields:
        """Return the result for the fields with a default value and for others that the code may read."""
        freed = FreedFields()
        offered = {name: self._offered(name, value) for name, value in fields.items()}
        offered |= {path: _unsaid(field_name(path)) for path in self._others()}
        before = [self._told(setting) for setting in self.settings]
        for place in range(max(map(len, offered.values()), default=0)):
            tried = {name: each[place] for name, each in offered.items() if place < len(each)}
            stored: dict[str, Sequence[Any]] = {name: values for name, (sort, values) in tried.items()}
            for number, setting in enumerate(self.settings):
                stored = self._still(stored, setting, before[number], run=False)
            inert: dict[str, Sequence[Any]] = {
                name: values
                for name, values in stored.items()
                if tried[name][0] != PART
                and ((tried[name][0] != EMPTY and self._seen(name)) or self._dropped(name, values))
            }
            for number, setting in enumerate(self.settings):
                inert = self._still(inert, setting, before[number])
            inert = self._trained(inert)
            for name in stored:
                (freed.inert if name in inert else freed.stored).setdefault(name, []).append(tried[name][0])
        return freed

    def _others(self) -> Iterator[str]:
        """Yield the fields that the class lacks but that its code or the library's may read."""
        names = {*(common_field_names() - {*dir(self.source.config_class)}), PARTIAL, THETA, *ROPE}
        names = (names | {*MENTIONED}) - {*INERT, *CLASS_FIELDS, CHECKPOINTING}
        default = self.trials.default
        words = {*map(field_name, self.trials.usual)} - {
            *INERT,
            *CLASS_FIELDS,
            CHECKPOINTING,
        }  # another part may have them
        top = {word for word in words if self._unmoving(word)}
        for part, config in (("", default), *((part, getattr(default, part)) for part in self.trials.parts())):
            read = keyword_names(type(config)) - {*INERT, *CLASS_FIELDS, CHECKPOINTING}
            for name in sorted(
                {*names, *read, *(words if part else top), *((TIED,) if part else _patterns(self.entry))}
            ):
                path = f"{part}.{name}" if part else name
                if path not in self.trials.usual and path not in self.entry.sizes and path not in self.entry.aliases:
                    yield path

    def _unmoving(self, name: str) -> bool:
        """Return True if a field at the top level of a config without parts does not change the defaults.

        A class may read a field of a part there, but only if the config omits the part.
        """
        same = []
        for value in (ODD, True, FUNCTIONS[0]):
            with suppress(Exception):  # any error of the config class
                said = self.trials.said({name: value})
                same.append({**said, name: None} == {**self.trials.usual, name: None})
        return bool(same) and all(same)

    def _offered(self, name: str, usual: Any) -> list[tuple[str, list[Any]]]:
        """Return the sorts of values to try for a field, depending on its default."""
        word = field_name(name)
        if word in ROPE:
            if isinstance(usual, dict) and usual and all(isinstance(each, dict) for each in usual.values()):
                return [
                    (
                        "rotary kinds",
                        [{kind: {**each, THETA: theta} for kind, each in usual.items()} for theta in (5e3, 7e5)],
                    )
                ]
            return [(ROTARY, [LINEAR, YARN]), (PART, [LINEAR | {PARTIAL: 0.5}]), ("null", [None])]
        match usual:
            case float() if usual > 0:  # at 0, some probabilities remove a weight
                return [("positive", [usual / 2, usual / 2 + 0.125]), ("null", [None])]
            case bool() | float():  # its own sort is tested elsewhere
                return [("null", [None])]
            case int():
                return [
                    *self._per_layer(name),
                    ("integer", [-1, 0, 3]),
                    ("null", [None]),
                    ("float", [0.375, 3.5, -1, 0]),
                ]
            case None:
                return _unsaid(word)[1:]
            case list() if (kinds := _alike(usual)) and len(usual) == self._usual_layers(name):
                layers = self.layers.get(part_of(name), 0)
                return [(f"{KINDS}:{','.join(kinds)}", [[kind] * layers for kind in kinds])] if layers else []
            case list() if PLACES.search(word) and usual and all(type(each) is int and each > 0 for each in usual):
                return [(f"{PLACED}:{len(usual)}", [[each - 1 for each in usual], [*range(len(usual))]])]
            case list() | tuple() if usual and all(isinstance(each, float) for each in usual):
                return [("numbers", [[each / 2 + 0.5 for each in usual], [0.25 for _ in usual]])]
            case list() if usual and not UNSEEN.search(word.replace("layers_block_type", "")) and _words(usual):
                return [("words", [usual[:1], [*usual, usual[0]]]), ("null", [None])]
            case list() if usual:
                return [("null", [None]), (EMPTY, [[]])]
            case str() if word in REDUCTIONS:
                return [(f"{NAMED}:{','.join(REDUCTIONS[word])}", [*REDUCTIONS[word]])]
        return [("null", [None])] if isinstance(usual, str) else []

    def _per_layer(self, name: str) -> list[tuple[str, list[Any]]]:
        """Return a window for each layer, where one number is the default for all of them."""
        layers = self.layers.get(part_of(name), 0)
        return [(PER_LAYER, [[width] * layers for width in (8, 64)])] if layers and is_window(field_name(name)) else []

    def _usual_layers(self, name: str) -> int:
        return self.usual_layers.get(part_of(name), 0)

    def _seen(self, name: str) -> bool:
        """Return True if a run on shapes alone would show the effect of a field."""
        word = field_name(name)
        return not (UNSEEN.search(word) or "rotary" in word) or bool(SEEN.search(word) or SCALES.search(word))

    def _dropped(self, name: str, values: Sequence[Any]) -> bool:
        """Return True if the config class accepts a field without storing it, or stores null without effect."""
        if values == [None] and name not in self.trials.usual:
            return True
        with suppress(Exception):  # any error of the config class
            return all(self.trials.said(self.trials.filled({name: each})) == self.trials.usual for each in values)
        return False

    def _told(self, setting: Mapping[str, Any]) -> Any:
        return self.trials.told(self.trials.filled(setting))

    def _trained(self, values: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
        """Return the fields whose last value does not change the products of a forward and backward pass."""
        usual = self.trials.trained(self.trials.filled(self.settings[0])) if values else None
        if usual is None:
            return dict(values)

        def same(said: Mapping[str, Any]) -> bool | None:
            told = self.trials.trained(self.trials.filled({**self.settings[0], **said}))
            return None if told is None else told == usual

        held = inert_subset({name: each[-1:] for name, each in values.items()}, same)
        return {name: each for name, each in values.items() if name in held}

    def _still(
        self, values: Mapping[str, Sequence[Any]], setting: Mapping[str, Any], before: Any, run: bool = True
    ) -> dict[str, Sequence[Any]]:
        """Return the fields whose values have no effect, or no effect on the stored parameters."""
        if before is None or not values:
            return {}

        def same(said: Mapping[str, Any]) -> bool | None:
            point = self.trials.filled({**setting, **said})
            if not run:
                stored = self.trials.stored(point)
                return None if stored is None else stored == before[0]
            told = self.trials.told(point)
            if told is None or (before[1] and not told[1] and told[0] == before[0]):
                return None
            return bool(told == before)

        return {name: values[name] for name in inert_subset(values, same)}


def sorts(found: Mapping[str, Sequence[str]], known: Mapping[str, str]) -> dict[str, str]:
    """Return the sorts of values by field, with those already known first."""
    return {
        name: "|".join(dict.fromkeys((*filter(None, known.get(name, "").split("|")), *found.get(name, ()))))
        for name in (*known, *found)
    }


def _unsaid(word: str) -> list[tuple[str, list[Any]]]:
    """Return the sorts of values to try for a field without a default: null first, which sets nothing."""
    if word.endswith(PATTERN):
        return [("null", [None]), ("text", ["*E", "M*M"])]
    if word == "size":
        return [("null", [None]), ("object", [{"longest_edge": 64}, {"height": 8, "width": 8}])]
    if ACTS.search(word):
        return [("null", [None]), ("function", [*FUNCTIONS])]
    if word in (THETA, PARTIAL):
        return [("null", [None]), ("float", [5000.0, 7e5] if word == THETA else [0.5, 0.25])]
    if word in ROPE:
        return [("null", [None]), (ROTARY, [LINEAR, YARN]), (PART, [LINEAR | {PARTIAL: 0.5}])]
    return [("null", [None]), ("int", [3, 64, 7]), ("bool", [True, False]), ("float", [0.375, 3.5, -1, 0])]


def _alike(usual: Sequence[Any]) -> tuple[str, ...]:
    """Return the layer kinds that may replace those in a list, or () if the list has other kinds too."""
    return next((kinds for kinds in ALIKE if usual and {*map(str, usual)} <= {*kinds}), ())


def _words(usual: Sequence[Any]) -> bool:
    return all(isinstance(each, str) for each in usual)


def _turned(usual: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return rotary embeddings with other frequencies for each layer kind."""
    return [{kind: {**each, THETA: theta} for kind, each in usual.items()} for theta in (5e3, 7e5)]


def _patterns(entry: ClassConfig) -> tuple[str, ...]:
    """Return the pattern fields, given as strings of characters, that do not count layers."""
    return tuple(name for name in entry.names_read or () if name.endswith(PATTERN) and name not in entry.layer_kinds)


def _depth(settings: Sequence[Mapping[str, Any]], usual: Mapping[str, Any], name: str) -> int:
    value = settings[0].get(name, usual.get(name, 0))
    return value if type(value) is int else 0
