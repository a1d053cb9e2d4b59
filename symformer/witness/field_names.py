"""Other names of the fields of a class, and other places in a config where they may be.

These are found from configs alone, without building a model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import Any

from ..catalogue.matching import shared
from ..catalogue.shelf import BESIDE, Shelved, last, part_of, read
from ..configs.known import INERT
from .asking import looked_up, names, written
from .classes import Source
from .trying import Trials

SMALL = (1, 2, 3, 4, 5, 6, 7, 8)  # of a period, which is where such fields are found
ODD = (7919, 6133)  # values that no config has by default, which identify another name of a field


def named(source: Source, trials: Trials, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry as data, with the other names of its fields and the names that its code may read."""
    kept = read(data).entry
    found = FieldNames(source, trials, kept)
    asks = {*(kept.asks or ()), *written(source), *looked_up(source)} - trials.usual.keys() - shared()
    untyped = found.untyped()
    entry = {name: value for name, value in data["entry"].items() if name not in ("aliases", "hoisted")}
    entry["whole"] = True
    said = {"asks": sorted(asks), "aliases": found.aliases(), "hoisted": found.hoisted()}
    entry |= {name: value for name, value in said.items() if value or name == "asks"}
    entry["idle"] = {**entry.get("idle", {}), **dict.fromkeys(untyped, "text")}
    switches = {**data["switches"], **found.defaults()}
    entry["asked"] = [name for name in kept.asked if name not in untyped]
    return {
        **data,
        "switches": switches,
        "entry": {name: value for name, value in entry.items() if value or name == "asks"},
    }


class FieldNames:
    """The names of the fields of one class."""

    def __init__(self, source: Source, trials: Trials, entry: Shelved) -> None:
        self.source, self.trials, self.entry = source, trials, entry

    def aliases(self) -> dict[str, str]:
        """Return the other names of fields that a config may use, each with its field."""
        found: dict[str, str] = {}
        for part, config in self._configs():
            into = f"{part}." if part else ""
            spelt = (names(type(config).__module__, whole=True) | shared()) - {*dir(type(config))}
            for name in (spelt | {*config.attribute_map}) - {*INERT, *BESIDE}:
                path = into + name
                if self._known(path):
                    continue
                with suppress(Exception):  # whatever somebody's config raises of it
                    field = self._alias(path)
                    if field:
                        found[path] = field
        return found

    def defaults(self) -> dict[str, Any]:
        """Return the fields that a config class accepts but does not store, with the values that have no effect."""
        found: dict[str, Any] = {}
        for part, config in self._configs():
            into = f"{part}." if part else ""
            for name in names(type(config).__module__, whole=True) - {*dir(type(config)), *INERT, *BESIDE}:
                path = into + name
                if not self._known(path) and (value := self._kept(path)):
                    found[path] = value
        return found

    def _kept(self, path: str) -> int:
        """Return the only small number at which an unstored field leaves the config at its defaults, or 0."""
        same: list[int] = []
        part = part_of(path)
        bare = self.trials.said({f"{part}.model_type": self.trials.usual[f"{part}.model_type"]} if part else {})
        for value in SMALL:
            with suppress(Exception):  # whatever somebody's config raises of it
                if (said := self.trials.said({path: value})) == bare:
                    same.append(value)
                elif path in said:  # stored: its effect is seen where it is read
                    return 0
        return same[0] if len(same) == 1 else 0

    @cache  # noqa: B019  # an object exists only while the entry of one class is written
    def hoisted(self) -> str:
        """Return the part whose fields a class reads from the top level of a config without that part, or ""."""
        for part in self.trials.parts():
            sizes = [name for name in self.entry.sizes if part_of(name) == part and last(name) not in self.trials.usual]
            for some in (sizes[:3], sizes[1:4]):
                if len(some) < 2:
                    continue
                with suppress(Exception):  # whatever somebody's config raises of these
                    given = {last(name): 2 * self.entry.sizes[name] for name in some}
                    at_the_top = self.trials.said_of(given)
                    inside = self.trials.said_of({part: given})
                    if any(inside[name] != 2 * self.entry.sizes[name] for name in some):
                        continue
                    if {name: at_the_top.get(name) for name in inside} == inside:
                        return part
        return ""

    def untyped(self) -> list[str]:
        """Return the type fields of the parts whose class does not depend on the type in the config."""
        found = []
        for part in self.trials.parts():
            name = f"{part}.model_type"
            with suppress(Exception):  # whatever somebody's config raises of it
                whole = self.trials.filled({name: self.trials.usual[name]})
                inside = {last(each): value for each, value in whole.items() if part_of(each) == part}
                usual = type(getattr(self.trials.default, part))
                other = {**inside, "model_type": "nobodys"}
                without = {each: value for each, value in inside.items() if each != "model_type"}
                if all(type(getattr(self.source.config({part: each}), part)) is usual for each in (other, without)):
                    found.append(name)
        return found

    def _known(self, path: str) -> bool:
        """Return whether a class has a field of this name, or reads it for a part that a config may omit."""
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

    def _configs(self) -> Iterator[tuple[str, Any]]:
        yield "", self.trials.default
        for part in self.trials.parts():
            yield part, getattr(self.trials.default, part)
