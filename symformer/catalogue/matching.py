"""A config held to what the catalogue knows of its class: its sizes and its switches, or what of it is not known.

A config is known where every field that is no size, is no switch that was turned, and is not known to change nothing,
says what it usually says; a field that nobody knows is never passed over.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from sympy import Integer

from ..configs.known import INERT, check_unquantised
from ..language.errors import CatalogueError, ConfigError, quoted
from ..language.sizes import put_in
from ..language.symbols import SYMBOLS
from .merging import merged
from .record import Find
from .shelf import (
    BESIDE,
    COMMON,
    FOLDER,
    HOLDS,
    Kept,
    Matched,
    Shelved,
    broken,
    filed_types,
    finder,
    last,
    letters_of,
    on_shelf,
    part_of,
    record,
    same,
)
from .traced import STORED


def find(config: Mapping[str, Any]) -> Find | None:
    """What the catalogue knows of a config, by quantity; None where it holds nothing of this structure."""
    for name, model_type in _classes(config):
        if (kept := on_shelf(name, model_type)) is not None and (at := matched(kept, config)) is not None:
            made = f", made from {kept.entry.part}" if kept.entry.part else ""
            assumed = (f"no 'architectures': read as {name}{made}",) * (config.get("architectures") is None)
            return finder(kept, at, assumed)
    return None


def why_not(config: Mapping[str, Any]) -> str:
    """Why the catalogue does not answer for a config; "" where it has heard nothing of its class."""
    for name, model_type in _classes(config):
        if (kept := on_shelf(name, model_type)) is None:
            filed = filed_types().get(model_type)
            return f"the catalogue has no {name}: {filed.why}" if filed is not None and filed.name == name else ""
        try:
            match(kept, config)
        except CatalogueError as error:
            return f"the catalogue knows {name}, and not this one: {error}"
    return ""


def matched(kept: Kept, config: Mapping[str, Any]) -> Matched | None:
    """The sizes and the turns of a config of this class; None for one whose structure is not known."""
    try:
        return match(kept, config)
    except CatalogueError:
        return None


def match(kept: Kept, config: Mapping[str, Any]) -> Matched:
    """The sizes and the turns of a config of this class. Raises CatalogueError, which says what of it is not known."""
    entry = kept.entry
    fields = _fields(entry, config)
    numbers: dict[str, int] = {}
    unknown: list[str] = []
    for name, value in fields.items():
        if name in entry.sizes:
            if value is None and name in entry.nulls:
                continue
            if type(value) is not int or value < entry.least.get(name, 1):
                raise _strange(name, value)
            numbers[name] = value
        elif held := entry.idle.get(name) or entry.stored.get(name):
            usual = name in kept.switches and same(kept.switches[name], value, 0)
            if not usual and not HOLDS[held](value):
                raise _strange(name, value)
            unknown += [name] * (not usual and name in entry.stored)
        elif name not in kept.switches and last(name) not in (*INERT, *BESIDE) and not _unasked(entry, name, value):
            raise _strange(name, value)
    made = [name for name in entry.unsaid if name in fields]  # what a config makes of other fields
    if made and not {*made} <= {*entry.written} <= fields.keys():
        raise _strange(made[0], fields[made[0]])
    given = {name.partition(".")[0] for name in fields}
    for name in entry.asked:
        if name not in fields and ("." not in name or name.partition(".")[0] in given):
            raise CatalogueError(f"it leaves out {name}")
    left = [name for name in entry.sizes if name not in numbers]
    # A part that is not given at all is as it usually is, and nothing in it follows.
    follows = [n for n in left if n in entry.follows and ("." not in n or n.partition(".")[0] in given)]
    numbers |= {name: entry.sizes[name] for name in left if name not in follows}
    _follow(kept, numbers, follows)
    for name in numbers.keys() & kept.switches.keys():  # known at one number alone
        if numbers[name] != kept.switches[name]:
            raise _strange(name, numbers[name])
    _check_depths(kept, fields, numbers)
    turned = _turned(kept, fields, numbers)
    if made and (turned or numbers != entry.sizes):
        raise _strange(made[0], fields[made[0]])
    stored = record(kept, turned, STORED)
    if stored is None:
        names = [name for turn in turned for name in kept.turns[turn].fields]
        raise CatalogueError(f"what {' and '.join(dict.fromkeys(names))} change together is not known")
    if why := broken(stored, numbers):
        raise CatalogueError(why)
    return Matched(numbers, turned, tuple(unknown))


def _strange(name: str, value: Any) -> CatalogueError:
    shown = quoted(value) if isinstance(value, str) else quoted(json.dumps(value, default=str))[1:-1]
    return CatalogueError(f"{quoted(name)[1:-1]} is {shown}")


def _unasked(entry: Shelved, name: str, value: Any) -> bool:
    """Whether a field that the class does not know is one that no line of its code asks for, or a share to drop."""
    if "." in name or entry.asks is None or not name[:1].islower():
        return False
    return (isinstance(value, float) and "dropout" in name) or name not in {*entry.asks, *_common()}


def _fields(entry: Shelved, config: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a config, those of its parts by their paths and those in lists by their places.

    Raises CatalogueError for one of another type, of other parts or with other lists.
    """
    try:
        check_unquantised(config)
    except ConfigError as error:
        raise CatalogueError(str(error)) from None
    own = config.get(entry.part) if entry.part else config
    if config.get("model_type") != entry.model_type or not isinstance(own, Mapping):
        raise _strange(entry.part or "model_type", own if entry.part else config.get("model_type"))
    found: dict[str, Any] = {}
    for name, value in own.items():
        if name not in entry.parts:
            found[name] = value
        elif not isinstance(value, Mapping):
            raise _strange(name, value)
        else:
            found |= {f"{name}.{inner}": each for inner, each in value.items()}
    for name, length in entry.lists.items():
        if name in found:
            value = found.pop(name)
            if not isinstance(value, list) or len(value) != length:
                raise _strange(name, value)
            found |= {f"{name}[{place}]": each for place, each in enumerate(value)}
    return found


def _check_depths(kept: Kept, fields: Mapping[str, Any], numbers: Mapping[str, int]) -> None:
    """Raise CatalogueError where a config lists layers in no pattern that is known at any depth but the usual one."""
    for name, value in kept.switches.items():
        usual, layers = (_layers(kept.entry, name, sizes) for sizes in (kept.entry.sizes, numbers))
        if name in fields and isinstance(value, list) and len(value) == usual > 0 and layers != usual:
            raise _strange(name, fields[name])


def _layers(entry: Shelved, name: str, numbers: Mapping[str, int]) -> int:
    """How many layers a part has that has a field, at some sizes; 0 where nobody says."""
    return numbers.get(entry.depths.get(part_of(name), ""), 0)


def _turned(kept: Kept, fields: Mapping[str, Any], numbers: Mapping[str, int]) -> tuple[int, ...]:
    """The turns that make up a config's switches. Raises CatalogueError where they do not, or more is not as usual."""

    def as_said(name: str, value: Any) -> bool:
        return same(value, fields[name], _layers(kept.entry, name, numbers))

    odd = {
        name: fields[name]
        for name, value in kept.switches.items()
        if name in fields and name not in (*kept.entry.idle, *kept.entry.stored) and not as_said(name, value)
    }
    names = {name for turn in kept.turns for name in turn.fields}
    asked = {name: value for name, value in odd.items() if name in names}
    fits = [
        place
        for place, turn in enumerate(kept.turns)
        if all(name in asked and as_said(name, value) for name, value in turn.fields.items())
    ]
    whole = [
        place
        for place in fits
        if not any(kept.turns[place].fields.keys() < kept.turns[other].fields.keys() for other in fits)
    ]
    if sorted(asked) != sorted(name for place in whole for name in kept.turns[place].fields):
        raise _strange(*next(iter(asked.items())))
    if kept.entry.apart and len(whole) > 1:
        raise CatalogueError(f"what {' and '.join(asked)} change is known for one of them alone")
    said = merged({}, [kept.turns[place].said for place in whole])
    for name, value in said.items():
        if name in fields and not as_said(name, value):
            raise _strange(name, fields[name])
    for name, value in odd.items():
        if name not in asked and name not in said:
            raise _strange(name, value)
    return tuple(whole)


def _follow(kept: Kept, numbers: dict[str, int], left: Sequence[str]) -> None:
    """Put in the sizes that follow from others. Raises CatalogueError where one is no whole number."""
    if not left:
        return
    letters = letters_of(kept)
    while left:
        known = {SYMBOLS[letters[name]]: number for name, number in numbers.items() if name in letters}
        ready = [name for name in left if kept.entry.follows[name].free_symbols <= known.keys()]
        for name in ready:
            value = put_in(kept.entry.follows[name], known)
            if not isinstance(value, Integer) or value < 1:
                raise CatalogueError(f"it leaves out {name}, and {kept.entry.follows[name]} is no whole number")
            numbers[name] = int(value)
        if not ready:
            raise CatalogueError(f"it leaves out {left[0]}, and what that follows from")
        left = [name for name in left if name not in ready]


def _classes(config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The class that a config names, or the one that its type is read as, and the type."""
    match config.get("architectures"), config.get("model_type"):
        case [str(name)], str(model_type):
            yield name, model_type
        case None, str(model_type) if filed := filed_types().get(model_type):
            yield filed.name, model_type


@cache
def _common() -> frozenset[str]:
    place = FOLDER / COMMON
    return frozenset(json.loads(place.read_text("utf-8")))
