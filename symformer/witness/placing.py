"""Where the whole numbers of a config stand: found by name, in parts of it and in lists, and put back there.

A field of a part is written text_config.hidden_size, and one of a list depths[0].
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from ..language.errors import WitnessError
from .drawing import DEEP, ENTRY

STAGES = 6  # a list of more numbers is one of layers
PLACES = re.compile("ind(ex|ices)|_ids?$|layers$")  # lists that say where and not how many
# Whole numbers of a config that are no sizes, whatever they are set to: passing them on would only cost builds.
_NEVER = ("_token_id", "_index", "seed", "_token")
_NAMED = ("id2label", "label2id")  # the labels by their names, which say again how many there are


class Placing:
    """A config of a class as it is by default, at other sizes."""

    def __init__(self, default: Any) -> None:
        self.default = default
        self.start = whole_numbers(default)

    def placed(self, fields: Mapping[str, Any], point: Mapping[str, Any]) -> dict[str, Any]:
        """The fields that a config class is given: some as they are, and those of a point where they belong."""
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
        for name, value in point.items():  # a list with an entry for each layer is as long as there are layers
            into, _, last = name.rpartition(".")
            scope = arguments[into] if into else arguments
            for field, entries in scope.items() if DEEP.search(last) and not ENTRY.search(last) else ():
                if isinstance(entries, list) and len(entries) == self.start.get(name) and len(entries) > 1:
                    scope[field] = _repeated(field, entries, value)
        return arguments

    @cached_property
    def _parts(self) -> dict[str, dict[str, Any]]:
        """What each part says that a config of its class does not by itself, beside all that is or lists a size.

        A class may fill a part that it is not given in its own way, and takes one that it is given as it is.
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
    """Whether a field lists a few names or places, as those of the stages that are given back."""
    return isinstance(value, (list, tuple)) and len(value) <= STAGES and all(type(each) in (str, int) for each in value)


def whole_numbers(config: Any) -> dict[str, int]:
    """Every whole number of a config and of the configs inside it, by name, and those in lists by their places."""
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
    """The entries of a list for another number of layers, by its period. Raises WitnessError where it has none.

    A few numbers of no pattern are as many as there are layers by chance, or are a size of each of so many stages.
    """
    period = next((n for n in range(1, len(entries)) if entries[n:] == entries[:-n]), len(entries))
    if 2 * period > len(entries) and len(entries) <= STAGES and all(type(each) is int for each in entries):
        return entries
    if length != len(entries) and 2 * period > len(entries):
        raise WitnessError(f"{field} lists {len(entries)} layers that repeat no pattern")
    return [entries[layer % period] for layer in range(length)]
