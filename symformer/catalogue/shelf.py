"""The catalogue that comes with the package: what is known of torch classes, by their configs, without torch.

A class has an entry for each of its structures that were read. A config is of a structure where every field that is no
size, and is not known to change nothing, says the same; a field that nobody knows is never passed over. Where no entry
is of a config's structure, nothing here answers for it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, get_args

from sympy import Expr, Integer

from ..configs.known import INERT, check_unquantised
from ..configs.rotary import ROPES, check_rotary
from ..language.errors import CatalogueError, ConfigError, SizeError, SymformerError
from ..language.sizes import put_in
from ..language.symbols import SYMBOLS
from ..ledger.facts import Activation
from .codec import from_data
from .record import Find, Record, with_letters
from .traced import STORED

FOLDER = Path(__file__).parent / "shelf"
TYPES = "_types.json"  # beside the classes, which of them each model type is read as
BESIDE = ("architectures", "model_type")  # fields that say which class it is, and not which structure
LONGEST = 100  # characters of a class's name, which is that of its file
EACH = "each layer"  # of a list with one kind of layers, that kind


def _rotary(value: Any) -> bool:
    try:
        check_rotary("rope_parameters", value, ROPES, partly=False)
    except ConfigError:
        return False
    return True


# What a field that changes nothing may hold: of another sort, it is no config that a class reads.
HOLDS: Mapping[str, Callable[[Any], bool]] = {
    "bool": lambda value: isinstance(value, bool),
    "int": lambda value: type(value) is int and value > 0,
    "float": lambda value: isinstance(value, float) or type(value) is int,
    "function": lambda value: value in get_args(Activation),
    "token": lambda value: value is None or type(value) is int or isinstance(value, list),
    "rotary": _rotary,
}


@dataclass(frozen=True, kw_only=True)
class Shelved:
    """One structure of one class: which configs are of it, and what is known of these."""

    name: str  # of the class
    model_types: tuple[str, ...]  # whose configs are read as this class where they name none
    versions: Mapping[str, str]
    sizes: Mapping[str, int]  # fields that are sizes -> what the class takes where a config leaves one out
    follows: Mapping[str, Expr] = field(default_factory=dict)  # and those that then follow from others
    nulls: tuple[str, ...] = ()  # of these, the fields in which null is as good as nothing
    turned: tuple[str, ...] = ()  # switches that are not as the class has them by default: a config has to say them
    depth: str = ""  # the field that says how long a list of layers is
    idle: Mapping[str, str] = field(default_factory=dict)  # fields that change nothing -> what they hold, of HOLDS
    records: Mapping[str, Record] = field(default_factory=dict)


@cache
def on_shelf(name: str) -> tuple[tuple[Shelved, Mapping[str, Any]], ...]:
    """The entries of a class, each with what its other fields say. Raises CatalogueError for a file that is damaged."""
    place = FOLDER / f"{name}.json"
    if not name.isidentifier() or not name[0].isupper() or len(name) > LONGEST or not place.is_file():
        return ()
    found = []
    try:
        for each in json.loads(place.read_text("utf-8")):
            for record in each["entry"]["records"].values():
                with_letters(record["letters"])
            found.append((from_data(Shelved, each["entry"]), dict(each["switches"])))
            _ = found[-1][0].records[STORED]  # without which nothing is known of it
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, SymformerError) as error:
        why = " ".join(str(error).split())[:80]
        raise CatalogueError(
            f"the catalogue's file of {name} is damaged ({type(error).__name__}: {why}); install symformer again"
        ) from None
    return tuple(found)


def classes() -> list[str]:
    """The classes that have an entry."""
    return sorted(place.stem for place in FOLDER.glob("*.json") if place.name != TYPES)


def find(config: Mapping[str, Any]) -> Find | None:
    """What the catalogue knows of a config, by quantity; None where it holds nothing of this structure."""
    for name in _classes(config):
        for entry, switches in on_shelf(name):
            if (numbers := numbers_of(entry, switches, config)) is not None:
                assumed = (f"no 'architectures': read as {name}",) * (config.get("architectures") is None)
                return finder(entry, numbers, assumed)
    return None


def finder(entry: Shelved, numbers: Mapping[str, int], assumed: tuple[str, ...] = ()) -> Find:
    """What an entry says of a config with these sizes, by quantity."""

    def known(quantity: str) -> Record:
        if quantity not in entry.records:
            raise CatalogueError(f"the catalogue has nothing of {quantity} for {entry.name}")
        record = entry.records[quantity]
        if why := _broken(record, numbers):
            raise CatalogueError(f"what the catalogue has of {quantity} for {entry.name} is not for this config: {why}")
        return replace(record, config=numbers, assumed=assumed, by="catalogue")

    return known


def _classes(config: Mapping[str, Any]) -> Iterator[str]:
    """The class that a config names, or the one that its type is read as."""
    match config.get("architectures"):
        case [str(name)]:
            yield name
        case None if isinstance(model_type := config.get("model_type"), str):
            if name := _index().get(model_type, ""):
                yield name


@cache
def _index() -> Mapping[str, str]:
    """The class that each model type is read as where a config names none."""
    place = FOLDER / TYPES
    found: Mapping[str, str] = json.loads(place.read_text("utf-8")) if place.is_file() else {}
    return found


def numbers_of(entry: Shelved, switches: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, int] | None:
    """Every size of a config of this structure; None for a config of another."""
    try:
        check_unquantised(config)
    except ConfigError:
        return None
    if config.get("model_type") not in entry.model_types or not {*entry.turned} <= config.keys():
        return None
    numbers: dict[str, int] = {}
    for name, value in config.items():
        if name in entry.sizes:
            if value is None and name in entry.nulls:
                continue
            if type(value) is not int or value < 1:
                return None
            numbers[name] = value
        elif name in entry.idle:
            if not HOLDS[entry.idle[name]](value):
                return None
        elif name not in (*BESIDE, *INERT) and name not in switches:
            return None
    left = [name for name in entry.sizes if name not in numbers]
    numbers |= {name: entry.sizes[name] for name in left if name not in entry.follows}
    if not _followed(entry, numbers, [name for name in left if name in entry.follows]):
        return None
    for name, value in switches.items():
        if name in config and not _same(value, config[name], numbers.get(entry.depth, 0)):
            return None
    return None if _broken(entry.records[STORED], numbers) else numbers


def _broken(record: Record, numbers: Mapping[str, int]) -> str:
    """The condition of a record that some sizes break, of the sizes that its formulas leave out too; "" for none."""
    known = {SYMBOLS[letter]: numbers[name] for name, letter in record.letters.items() if name in numbers}
    for condition in (record.lifted or record.counted).constraints:
        try:
            condition.check(known)
        except SizeError as error:
            return str(error)
    return ""


def _followed(entry: Shelved, numbers: dict[str, int], left: list[str]) -> bool:
    """Put in the sizes that follow from others; whether each is whole."""
    letters = entry.records[STORED].letters
    while left:
        known = {SYMBOLS[letters[name]]: number for name, number in numbers.items() if name in letters}
        ready = [name for name in left if entry.follows[name].free_symbols <= known.keys()]
        for name in ready:
            value = put_in(entry.follows[name], known)
            if not isinstance(value, Integer) or value < 1:
                return False
            numbers[name] = int(value)
        if not ready:
            return False
        left = [name for name in left if name not in ready]
    return True


def _same(ours: Any, theirs: Any, depth: int) -> bool:
    """Whether two values of a field are the same, true and 1 apart; a list of one kind of layers, at any depth."""
    if isinstance(ours, dict) and [*ours] == [EACH]:
        return isinstance(theirs, list) and theirs == [ours[EACH]] * depth
    return json.dumps(ours, sort_keys=True) == json.dumps(theirs, sort_keys=True)
