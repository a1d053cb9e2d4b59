"""The integers of a config by name, including those in its parts and lists, and changes to them.

A field of a part is written text_config.hidden_size, and an entry of a list depths[0].
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from ..language.errors import WitnessError
from .sampling import DEEP, ENTRY

STAGES = 6  # a longer list is one of layers
PLACES = re.compile("ind(ex|ices)|_ids?$|layers$")  # lists of positions, not of sizes
# Integers of a config that are never sizes; testing them would only cost builds.
_NEVER = ("_token_id", "_index", "seed", "_token")
_NAMED = ("id2label", "label2id")  # the label names, which also determine the number of labels


class ConfigIntegers:
    """The default config of a class, at other sizes."""

    def __init__(self, default: Any) -> None:
        self.default = default
        self.start = whole_numbers(default)

    def placed(self, fields: Mapping[str, Any], point: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a config class: some fields, with the values of a point set where they belong."""
        arguments: dict[str, Any] = dict(fields)
        if "num_labels" in point:
            arguments = {name: value for name, value in arguments.items() if name not in _NAMED}
        for name in dict.fromkeys(name.rpartition(".")[0] for name in point if "." in name):
            arguments[name] = dict(arguments.get(name) or self._parts[name])
        for name, value in point.items():
            into, _, last = name.rpartition(".")
            scope = arguments[into] if into else arguments
            entry = ENTRY.search(last)
            if entry:
                field, place = last[: entry.start()], int(entry[1])
                before = scope.get(field) or getattr(getattr(self.default, into) if into else self.default, field)
                scope[field] = [value if each == place else old for each, old in enumerate(before)]
            else:
                scope[last] = value
        for name, value in point.items():  # a list with an entry per layer is as long as the number of layers
            into, _, last = name.rpartition(".")
            scope = arguments[into] if into else arguments
            for field, entries in scope.items() if DEEP.search(last) and not ENTRY.search(last) else ():
                if isinstance(entries, list) and len(entries) == self.start.get(name) and len(entries) > 1:
                    scope[field] = _repeated(field, entries, value)
        return arguments

    @cached_property
    def _parts(self) -> dict[str, dict[str, Any]]:
        """Return the fields of each part that differ from its class's defaults, except sizes and lists of sizes.

        A class may give a part its own defaults if a config omits it, but uses a given part unchanged.
        """
        found = {}
        for name in self.default.sub_configs:
            part: Any = getattr(self.default, name, None)
            if hasattr(part, "sub_configs"):
                bare = type(part)().to_dict()
                found[name] = {
                    field: value
                    for field, value in part.to_dict().items()
                    if (isinstance(value, (bool, float, str)) or _few(value) or field in part.sub_configs)
                    and bare.get(field) != value
                    and not field.startswith("_")
                } | {"model_type": part.model_type}
        return found


def _few(value: Any) -> bool:
    """Return True if a field lists a few names or positions, such as the stages to return."""
    return isinstance(value, (list, tuple)) and len(value) <= STAGES and all(type(each) in (str, int) for each in value)


def whole_numbers(config: Any) -> dict[str, int]:
    """Return every positive integer of a config and its parts by name, and those in lists with their index."""
    found = {}
    for name, value in vars(config).items():
        if name.startswith("_") or name.endswith(_NEVER):
            continue
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            found[name] = value
        elif isinstance(value, (list, tuple)) and 1 < len(value) <= STAGES and not PLACES.search(name):
            if all(type(each) is int and each > 0 for each in value):
                found |= {f"{name}[{place}]": each for place, each in enumerate(value)}
        elif name in config.sub_configs and hasattr(value, "sub_configs"):
            found |= {f"{name}.{inner}": number for inner, number in whole_numbers(value).items() if "." not in inner}
    return found


def _repeated(field: str, entries: list[Any], length: int) -> list[Any]:
    """Return the entries of a list for another number of layers, by its period. Raises WitnessError without a period.

    A short list of integers without a period is kept: it has a size for each stage, or its length is a coincidence.
    """
    period = next((n for n in range(1, len(entries)) if entries[n:] == entries[:-n]), len(entries))
    if 2 * period > len(entries) and len(entries) <= STAGES and all(type(each) is int for each in entries):
        return entries
    if length != len(entries) and 2 * period > len(entries):
        raise WitnessError(f"{field} lists {len(entries)} layers without a repeating pattern")
    return [entries[layer % period] for layer in range(length)]
