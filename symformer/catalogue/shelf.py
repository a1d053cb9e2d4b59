"""The catalogue that comes with the package: what is known of torch classes, by their configs, without torch.

A class is known as it usually is, and by what each switch changes that was turned. A config is known where every field
that is no size, is no such switch, and is not known to change nothing, says the same; a field that nobody knows is
never passed over. Where no entry is of a config's structure, nothing here answers for it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from .merging import long, merged
from .record import OPERATIONS, Find, Record, with_letters
from .traced import STORED

FOLDER = Path(__file__).parent / "shelf"
TYPES = "_types.json"  # beside the classes, what each model type is read as
COMMON = "_common.json"  # and the names that the library's common code may ask any config for
BESIDE = ("architectures", "model_type")  # fields that say which class it is, and not which structure
LONGEST = 100  # characters of the name of a class, and of a type, which its file is called by
TYPE = re.compile("[a-z0-9][a-z0-9_-]*", re.IGNORECASE)
EACH = "layers"  # of a list of layers that repeats a pattern at any depth, that pattern


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
    """One class: which fields of its configs say what. A field of a part is written text_config.hidden_size."""

    name: str  # of the class
    model_type: str  # whose configs are read as this class
    versions: Mapping[str, str]
    part: str = ""  # of a config that holds several, the one that the class is made from
    parts: tuple[str, ...] = ()  # fields that hold configs themselves
    lists: Mapping[str, int] = field(default_factory=dict)  # fields that list sizes -> how many
    sizes: Mapping[str, int]  # fields that are sizes -> what the class takes where a config leaves one out
    follows: Mapping[str, Expr] = field(default_factory=dict)  # and those that then follow from others
    nulls: tuple[str, ...] = ()  # of these, the fields in which null is as good as nothing
    asked: tuple[str, ...] = ()  # fields that a config has to give, those of a part where it gives that part
    least: Mapping[str, int] = field(default_factory=dict)  # sizes that the formulas do not hold below
    unsaid: tuple[str, ...] = ()  # fields whose own usual value means something else where a config gives it
    depths: Mapping[str, str] = field(default_factory=dict)  # by part, the field that says how long its lists are
    idle: Mapping[str, str] = field(default_factory=dict)  # fields that change nothing -> what they hold, of HOLDS
    stored: Mapping[str, str] = field(default_factory=dict)  # and those that change nothing that is stored
    asks: tuple[str, ...] | None = None  # other names that its code may ask for; None where these are not known
    apart: bool = False  # whether its switches are known only one at a time
    still: tuple[str, ...] = ()  # fields with a vocabulary, widths, layers or heads that its formulas have as numbers
    unrun: str = ""  # why nothing is known of what it does, where only what it stores is


@dataclass(frozen=True, kw_only=True)
class Turn:
    """Switches that are not as the class has them by default, and its records where just these are turned.

    Without records what these change is not known, and not what each of them changes.
    """

    fields: Mapping[str, Any]
    said: Mapping[str, Any] = field(default_factory=dict)  # other fields that are then by default something else
    records: Mapping[str, Any]  # as data, with numbers for the rows that it has as usual


@dataclass(frozen=True, kw_only=True, eq=False)
class Kept:
    """What the catalogue keeps of a class; its records are data until one is asked for."""

    entry: Shelved
    switches: Mapping[str, Any]  # every other field, and what it says; of rotary positions what they usually are
    records: Mapping[str, Any]
    turns: tuple[Turn, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Filed:
    """A model type: the class that its configs are read as where they name none."""

    name: str = ""  # of the class; "" where it cannot be imported
    head: str  # of HEADS, for which that is the class
    why: str = ""  # nothing is kept of it
    builds: bool = True  # from its own default config


@dataclass(frozen=True)
class Matched:
    """A config of a class that is known: its sizes, and which turns are its own."""

    numbers: Mapping[str, int]
    turned: tuple[int, ...] = ()
    unknown: tuple[str, ...] = ()  # fields that are not as usual, of which only what is stored is known


@cache
def on_shelf(name: str, model_type: str) -> Kept | None:
    """What is kept of a class for configs of a type, if anything. Raises CatalogueError where it is damaged."""
    place = FOLDER / f"{name}.{model_type}.json"
    if not name.isidentifier() or not TYPE.fullmatch(model_type) or max(len(name), len(model_type)) > LONGEST:
        return None
    if not place.is_file():
        return None
    try:
        kept = read(json.loads(place.read_text("utf-8")))
        if record(kept, (), STORED) is None:
            raise CatalogueError("nothing of what it stores")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, SymformerError) as error:
        why = " ".join(str(error).split())[:80]
        raise CatalogueError(
            f"the catalogue's file of {name} is damaged ({type(error).__name__}: {why}); install symformer again"
        ) from None
    return kept


def read(data: Mapping[str, Any]) -> Kept:
    """What is kept of a class, of the data that a file holds. Raises CatalogueError."""
    for known in (data["records"], *(turn["records"] for turn in data["turns"])):
        for each in known.values():
            with_letters(each["letters"])
    return Kept(
        entry=from_data(Shelved, data["entry"]),
        switches=data["switches"],
        records=data["records"],
        turns=tuple(Turn(**each) for each in data["turns"]),
    )


def classes() -> list[tuple[str, str]]:
    """The classes that have an entry, each with the model type whose configs are read as it."""
    found = (place.stem.partition(".") for place in FOLDER.glob("*.json") if place.name[0] != "_")
    return sorted((name, model_type) for name, _, model_type in found)


def find(config: Mapping[str, Any]) -> Find | None:
    """What the catalogue knows of a config, by quantity; None where it holds nothing of this structure."""
    for name, model_type in _classes(config):
        if (kept := on_shelf(name, model_type)) is not None and (at := matched(kept, config)) is not None:
            made = f", made from {kept.entry.part}" if kept.entry.part else ""
            assumed = (f"no 'architectures': read as {name}{made}",) * (config.get("architectures") is None)
            return finder(kept, at, assumed)
    return None


def of_type(model_type: str) -> Find | None:
    """What the catalogue knows of a model type with no sizes of its own; None for one that it does not hold."""
    filed = filed_types().get(model_type)
    kept = on_shelf(filed.name, model_type) if filed is not None else None
    return None if kept is None else finder(kept, Matched({}))


def finder(kept: Kept, at: Matched, assumed: tuple[str, ...] = ()) -> Find:
    """What is kept of a class with these sizes and switches, by quantity."""
    name = kept.entry.name
    if len(at.turned) > 1:
        turned = " and ".join(sorted(field for turn in at.turned for field in kept.turns[turn].fields))
        assumed = (*assumed, f"what {turned} change was read one at a time, and is added up")

    def known(quantity: str) -> Record:
        if at.unknown and quantity != STORED:
            raise CatalogueError(f"what {' and '.join(at.unknown)} of {name} change in a run is not in the catalogue")
        found = record(kept, at.turned, quantity)
        if found is None and (operations := record(kept, at.turned, OPERATIONS)) is not None:
            found = operations if quantity in operations.operations.confirmed else None
        if found is None:
            why = f": {kept.entry.unrun}" if kept.entry.unrun else ""
            raise CatalogueError(f"the catalogue has nothing of {quantity} for {name}{why}")
        if why := _broken(found, at.numbers):
            raise CatalogueError(f"what the catalogue has of {quantity} for {name} is not for this config: {why}")
        return replace(found, config=at.numbers, assumed=assumed, by="catalogue")

    return known


@cache
def record(kept: Kept, turned: tuple[int, ...], quantity: str) -> Record | None:
    """The record of a quantity with some turns, if it is known. Raises CatalogueError where these change the same."""
    usual = kept.records.get(quantity)
    others = [kept.turns[turn].records.get(quantity) for turn in turned]
    if usual is None or None in others:
        return None
    data = merged(usual, [long(each, usual) for each in others])
    if len({*data["letters"].values()}) < len(data["letters"]):
        raise CatalogueError(f"{kept.entry.name} has two sizes with one letter")
    with_letters(data["letters"])
    found: Record = from_data(Record, data)
    return found


def matched(kept: Kept, config: Mapping[str, Any]) -> Matched | None:
    """The sizes and the turns of a config of this class; None for one whose structure is not known."""
    entry = kept.entry
    fields = _fields(entry, config)
    if fields is None:
        return None
    numbers: dict[str, int] = {}
    unknown: list[str] = []
    for name, value in fields.items():
        if name in entry.sizes:
            if value is None and name in entry.nulls:
                continue
            if type(value) is not int or value < entry.least.get(name, 1):
                return None
            numbers[name] = value
        elif held := entry.idle.get(name) or entry.stored.get(name):
            usual = name in kept.switches and same(kept.switches[name], value, 0)
            if not usual and not HOLDS[held](value):
                return None
            unknown += [name] * (not usual and name in entry.stored)
        elif name not in kept.switches and last(name) not in (*INERT, *BESIDE) and not _unasked(entry, name, value):
            return None
    if any(name in fields for name in entry.unsaid):
        return None
    given = {name.partition(".")[0] for name in fields}
    if any(name not in fields and ("." not in name or name.partition(".")[0] in given) for name in entry.asked):
        return None
    left = [name for name in entry.sizes if name not in numbers]
    numbers |= {name: entry.sizes[name] for name in left if name not in entry.follows}
    try:
        if not _followed(kept, numbers, [name for name in left if name in entry.follows]):
            return None
        if _deep(kept, fields, numbers):
            return None
        turned = _turned(kept, fields, numbers)
        stored = None if turned is None else record(kept, turned, STORED)
        if turned is None or stored is None or _broken(stored, numbers):
            return None
    except CatalogueError:  # changes that meet
        return None
    return Matched(numbers, turned, tuple(unknown))


def _unasked(entry: Shelved, name: str, value: Any) -> bool:
    """Whether a field that the class does not know is one that no line of its code asks for, or a share to drop."""
    if "." in name or entry.asks is None or not name[:1].islower():
        return False
    return (isinstance(value, float) and "dropout" in name) or name not in {*entry.asks, *_common()}


def part_of(name: str) -> str:
    """The part that has a field; "" for the whole."""
    return name.rpartition(".")[0]


def last(name: str) -> str:
    """The name of a field in the part that has it."""
    return name.rpartition(".")[2]


def _fields(entry: Shelved, config: Mapping[str, Any]) -> dict[str, Any] | None:
    """The fields of a config, those of its parts by their paths and those in lists by their places; None for others."""
    try:
        check_unquantised(config)
    except ConfigError:
        return None
    own = config.get(entry.part) if entry.part else config
    if config.get("model_type") != entry.model_type or not isinstance(own, Mapping):
        return None
    found: dict[str, Any] = {}
    for name, value in own.items():
        if name not in entry.parts:
            found[name] = value
        elif not isinstance(value, Mapping):
            return None
        else:
            found |= {f"{name}.{inner}": each for inner, each in value.items()}
    for name, length in entry.lists.items():
        if name in found:
            value = found.pop(name)
            if not isinstance(value, list) or len(value) != length:
                return None
            found |= {f"{name}[{place}]": each for place, each in enumerate(value)}
    return found


def _deep(kept: Kept, fields: Mapping[str, Any], numbers: Mapping[str, int]) -> bool:
    """Whether a config lists the layers of a depth that is not its own, in no pattern that is known at any depth."""
    entry = kept.entry
    lists = (name for name, value in kept.switches.items() if isinstance(value, list) and name in fields)
    usual = ((_layers(entry, name, entry.sizes), name) for name in lists)
    return any(len(kept.switches[name]) == n > 0 and _layers(entry, name, numbers) != n for n, name in usual)


def _layers(entry: Shelved, name: str, numbers: Mapping[str, int]) -> int:
    """How many layers a part has that has a field, at some sizes; 0 where nobody says."""
    return numbers.get(entry.depths.get(part_of(name), ""), 0)


def _turned(kept: Kept, fields: Mapping[str, Any], numbers: Mapping[str, int]) -> tuple[int, ...] | None:
    """The turns that make up a config's switches; None where they do not, or something else is not as usual."""

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
        return None
    if kept.entry.apart and len(whole) > 1:
        return None
    said = merged({}, [kept.turns[place].said for place in whole])
    if not all(as_said(name, value) for name, value in said.items() if name in fields):
        return None
    return tuple(whole) if odd.keys() <= asked.keys() | said.keys() else None


def _broken(found: Record, numbers: Mapping[str, int]) -> str:
    """The condition of a record that some sizes break, of the sizes that its formulas leave out too; "" for none."""
    known = {SYMBOLS[letter]: numbers[name] for name, letter in found.letters.items() if name in numbers}
    for condition in (found.lifted or found.counted).constraints:
        try:
            condition.check(known)
        except SizeError as error:
            return str(error)
    return ""


def _followed(kept: Kept, numbers: dict[str, int], left: Sequence[str]) -> bool:
    """Put in the sizes that follow from others; whether each is whole."""
    if not left:
        return True
    letters = letters_of(kept)
    while left:
        known = {SYMBOLS[letters[name]]: number for name, number in numbers.items() if name in letters}
        ready = [name for name in left if kept.entry.follows[name].free_symbols <= known.keys()]
        for name in ready:
            value = put_in(kept.entry.follows[name], known)
            if not isinstance(value, Integer) or value < 1:
                return False
            numbers[name] = int(value)
        if not ready:
            return False
        left = [name for name in left if name not in ready]
    return True


@cache
def letters_of(kept: Kept) -> Mapping[str, str]:
    """The letter of every size, as what follows from others is written in."""
    found: dict[str, str] = {}
    for known in (kept.records, *(turn.records for turn in kept.turns)):
        for record in known.values():
            for name, letter in record["letters"].items():
                if letter not in found.values():
                    found.setdefault(name, letter)
    with_letters(found)
    return found


def same(ours: Any, theirs: Any, depth: int) -> bool:
    """Whether two values of a field are the same, true and 1 apart; a list of layers in a pattern, at any depth."""
    if isinstance(ours, dict) and [*ours] == [EACH]:
        ours = [ours[EACH][layer % len(ours[EACH])] for layer in range(depth)]
    return json.dumps(ours, sort_keys=True) == json.dumps(theirs, sort_keys=True)


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


@cache
def filed_types() -> Mapping[str, Filed]:
    """Every model type of transformers, and the class that it is read as where a config names none."""
    place = FOLDER / TYPES
    found: Mapping[str, Any] = json.loads(place.read_text("utf-8")) if place.is_file() else {}
    return {model_type: Filed(**each) for model_type, each in found.items()}
