"""Alternative names of a class's config fields, and alternative places for them in a config.

These are found from configs alone, without building a model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import Any

from ..catalogue.config_match import common_field_names
from ..catalogue.entries import CLASS_FIELDS, NAMED, ClassConfig, counted_kinds, field_name, part_of, read
from ..configs.common_fields import INERT
from .fields_read import keyword_names, literal_names, names, names_looked_up
from .inert_fields import FieldTrials
from .transformers_classes import TracedClass, is_model_type

SMALL = (1, 2, 3, 4, 5, 6, 7, 8)  # values of a period, the usual kind of such a field
FIRST, DEPTH = "first_k", "num_hidden_layers"
STEPS = ((1, 4), (2, 5), (3, 4), (2, 3))  # pairs of layers of the first kind and all layers
FEW = 4  # most alternative names of a model type
ODD = (7919, 6133)  # values that no config has by default, to identify another name of a field


def with_field_names(source: TracedClass, trials: FieldTrials, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry as data, with the alternative names of its fields and the names that its code may read."""
    kept = read(data).config
    found = FieldNames(source, trials, kept)
    asks = (
        {*(kept.names_read or ()), *literal_names(source), *names_looked_up(source)}
        - trials.usual.keys()
        - common_field_names()
    )
    untyped = found.untyped()
    entry = {
        name: value
        for name, value in data["config"].items()
        if name not in ("aliases", "top_level_part", "two_kind_lists")
    }
    entry["common_names_read"] = True
    said: dict[str, Any] = {"names_read": sorted(asks), "aliases": found.aliases(), "top_level_part": found.hoisted()}
    said["two_kind_lists"] = {name: [*each] for name, each in found.steps().items()}
    entry |= {name: value for name, value in said.items() if value or name == "names_read"}
    entry["inert"] = {**found.retyped(), **entry.get("inert", {}), **dict.fromkeys(untyped, "text")}
    switches = {**data["switches"], **found.defaults()}
    entry["required"] = [name for name in kept.required if name not in untyped]
    return {
        **data,
        "switches": switches,
        "config": {name: value for name, value in entry.items() if value or name == "names_read"},
    }


class FieldNames:
    """The field names of one class."""

    def __init__(self, source: TracedClass, trials: FieldTrials, entry: ClassConfig) -> None:
        self.source, self.trials, self.entry = source, trials, entry

    def aliases(self) -> dict[str, str]:
        """Return the alternative names of fields, each with its field."""
        found: dict[str, str] = {}
        for part, config in self._configs():
            into = f"{part}." if part else ""
            spelt = (names(type(config).__module__, whole=True) | common_field_names()) - {*dir(type(config))}
            for name in (spelt | {*config.attribute_map}) - {*INERT, *CLASS_FIELDS}:
                path = into + name
                if self._known(path):
                    continue
                for alias in (self._alias, *([self._switch] if name in keyword_names(type(config)) else [])):
                    with suppress(Exception):  # any error of the config class
                        if field := alias(path):
                            found[path] = field
        return found

    def defaults(self) -> dict[str, Any]:
        """Return the fields that a config class accepts but does not store, with the values that have no effect."""
        found: dict[str, Any] = {}
        for part, config in self._configs():
            into = f"{part}." if part else ""
            for name in names(type(config).__module__, whole=True) - {*dir(type(config)), *INERT, *CLASS_FIELDS}:
                path = into + name
                if not self._known(path) and (value := self._kept(path)):
                    found[path] = value
        return found

    def steps(self) -> dict[str, tuple[str, str, str]]:
        """Return the lists with one layer kind up to a size and another kind after it, each with kinds and size.

        Each is tested with several sizes and depths; null must be equivalent to omitting the list.
        """
        found: dict[str, tuple[str, str, str]] = {}
        for name, usual in self.trials.usual.items():
            if not isinstance(usual, list) or not usual or not all(isinstance(each, str) for each in usual):
                continue
            part = f"{part_of(name)}." if part_of(name) else ""
            for size in self.entry.sizes:
                if part_of(size) != part_of(name) or not field_name(size).startswith(FIRST):
                    continue
                shown = [(self._listed(name, part, {size: up_to}, depth), up_to, depth) for up_to, depth in STEPS]
                whole = shown[0][0]
                if len(whole) < 2 or whole[0] == whole[-1]:
                    continue
                first, then = whole[0], whole[-1]
                if all(listed == [first] * up_to + [then] * (depth - up_to) for listed, up_to, depth in shown):
                    found[name] = (first, size, then)
        return found

    def _listed(self, name: str, part: str, point: Mapping[str, Any], depth: int) -> list[str]:
        """Return a list of layers at a depth, or [] if null changes it or the config class rejects the depth."""
        kinds = counted_kinds(self.entry)
        deep = dict.fromkeys(sorted(kinds), 0) if kinds else {}
        fields = {**point, **(deep | {min(kinds): depth} if kinds else {f"{part}{DEPTH}": depth})}
        with suppress(Exception):  # any error of the config class
            plain = self.trials.said(fields)[name]
            if self.trials.said({**fields, name: None})[name] == plain:
                return [*map(str, plain)]
        return []

    def _kept(self, path: str) -> int:
        """Return the only small value at which an unstored field leaves the config at its defaults, or 0."""
        same: list[int] = []
        part = part_of(path)
        bare = self.trials.said({f"{part}.model_type": self.trials.usual[f"{part}.model_type"]} if part else {})
        for value in SMALL:
            with suppress(Exception):  # any error of the config class
                if (said := self.trials.said({path: value})) == bare:
                    same.append(value)
                elif path in said:  # stored: its effect shows elsewhere
                    return 0
        return same[0] if len(same) == 1 else 0

    @cache  # noqa: B019  # an object exists only while the entry of one class is written
    def hoisted(self) -> str:
        """Return the part whose fields a class also reads from the top level of a config, or ""."""
        for part in self.trials.parts():
            sizes = [
                name for name in self.entry.sizes if part_of(name) == part and field_name(name) not in self.trials.usual
            ]
            for some in (sizes[:3], sizes[1:4]):
                if len(some) < 2:
                    continue
                with suppress(Exception):  # any error of the config class
                    given = {field_name(name): 2 * self.entry.sizes[name] for name in some}
                    at_the_top = self.trials.said_of(given)
                    inside = self.trials.said_of({part: given})
                    if any(inside[name] != 2 * self.entry.sizes[name] for name in some):
                        continue
                    if {name: at_the_top.get(name) for name in inside} == inside:
                        return part
        return ""

    def untyped(self) -> list[str]:
        """Return the model_type fields of the parts whose class does not depend on them."""
        found = []
        for part in self.trials.parts():
            name = f"{part}.model_type"
            with suppress(Exception):  # any error of the config class
                whole = self.trials.filled({name: self.trials.usual[name]})
                inside = {field_name(each): value for each, value in whole.items() if part_of(each) == part}
                usual = type(getattr(self.trials.default, part))
                other = {**inside, "model_type": "nobodys"}
                without = {each: value for each, value in inside.items() if each != "model_type"}
                if all(type(getattr(self.source.config({part: each}), part)) is usual for each in (other, without)):
                    found.append(name)
        return found

    def retyped(self) -> dict[str, str]:
        """Return the model_type fields of the parts that accept other names or none, with these names.

        Such a name has no config class of its own and occurs in the code of the whole config's class.
        """
        found = {}
        for part in self.trials.parts():
            name = f"{part}.model_type"
            whole = self.trials.filled({name: self.trials.usual[name]})
            inside = {field_name(each): value for each, value in whole.items() if part_of(each) == part}
            without = {each: value for each, value in inside.items() if each != "model_type"}
            same = []
            for word in sorted(names(self.source.config_class.__module__, whole=True)):
                with suppress(Exception):  # any error of the config class
                    both = ({**inside, "model_type": word}, without)
                    if not is_model_type(word) and all(self._like({part: each}, part) for each in both):
                        same.append(word)
            if 0 < len(same) <= FEW:  # if any name works, the class ignores the field
                found[name] = f"{NAMED}:{','.join(same)}"
        return found

    def _like(self, fields: Mapping[str, Any], part: str) -> bool:
        """Return True if a config with these fields has the default part."""
        made, usual = getattr(self.source.config(fields), part), getattr(self.trials.default, part)
        return type(made) is type(usual) and made.to_dict() == usual.to_dict()

    def _known(self, path: str) -> bool:
        """Return True if a class has this field, or reads it for a part that a config may omit."""
        hoisted = self.hoisted()
        return path in self.trials.usual or ("." not in path and f"{hoisted}.{path}" in self.trials.usual)

    def _alias(self, path: str) -> str:
        """Return the field that a name is an alias of, or ""."""
        sides: list[set[str]] = []
        for value in ODD:
            said = self.trials.said({path: value})
            names = {name for name, each in said.items() if each == value and type(each) is int and name != path}
            same = set()
            for name in names:
                plain = self.trials.said({name: value})
                if {each: said[each] for each in said if each != path} == {e: plain[e] for e in plain if e != path}:
                    same.add(name)
            sides.append(same)
        both = set.intersection(*sides)
        return both.pop() if len(both) == 1 else ""

    def _switch(self, path: str) -> str:
        """Return the switch that a name is an alias of, or ""."""
        sides: list[set[str]] = []
        for value in (True, False):
            said = self.trials.said({path: value})
            names = {
                name
                for name, each in self.trials.usual.items()
                if isinstance(each, bool) and part_of(name) == part_of(path)
            }
            plain = {name: self.trials.said({name: value}) for name in names}
            sides.append(
                {name for name in names if {**said, path: 0} == {**plain[name], path: 0} and said[name] is value}
            )
        both = set.intersection(*sides)
        return both.pop() if len(both) == 1 else ""

    def _configs(self) -> Iterator[tuple[str, Any]]:
        yield "", self.trials.default
        for part in self.trials.parts():
            yield part, getattr(self.trials.default, part)
