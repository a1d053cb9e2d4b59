"""The catalogue that comes with the package: what is known of torch classes, by their configs, without torch.

A class is known as it usually is, and by what each switch changes that was turned. Which configs are of it, matching.py
decides; where no entry is of a config's structure, nothing here answers for it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, get_args

from sympy import Expr

from ..configs.known import spelling
from ..configs.rotary import ROPES, check_rotary
from ..language.errors import CatalogueError, ConfigError, SizeError, SymformerError
from ..language.symbols import SYMBOLS
from ..ledger.facts import Activation
from .codec import from_data
from .merging import long, merged, without
from .record import OPERATIONS, Find, Record, with_letters
from .traced import STORED

FOLDER = Path(__file__).parent / "shelf"
TYPES = "_types.json"  # beside the classes, what each model type is read as
COMMON = "_common.json"  # and the names that the library's common code may ask any config for
LIVE = "_live.json"  # the common names that have an effect, or may have one that no run shows
BESIDE = ("architectures", "model_type")  # fields that say which class it is, and not which structure
LONGEST = 100  # characters of the name of a class, and of a type, which its file is called by
TYPE = re.compile(r"[a-z0-9][a-z0-9_-]*(\.[a-z0-9_-]+)*", re.IGNORECASE)
LONG_ROPES = (*ROPES, "longrope", "su")  # the rotary types whose angles have the usual shape
SECTIONS = ("mrope_section", "mrope_interleaved", "long_mscale", "short_mscale")  # fields that affect only the angles
HEAD = "head_dim"  # which many classes leave to their code, and read where a config gives it
VARIANT = "+"  # separates the type and the number of a further entry of the same class
EACH = "layers"  # of a list of layers that repeats a pattern at any depth, that pattern


def _rotary(value: Any, partly: bool = False) -> bool:
    try:
        check_rotary("rope_parameters", _one_section(value), LONG_ROPES, partly)
    except ConfigError:
        return False
    return True


def _rotary_part(value: Any) -> bool:
    return _rotary(value, partly=True)


def _rotary_object(value: Any) -> bool:
    return isinstance(value, dict) and _rotary_part(value)


def _one_section(value: Any) -> Any:
    """Return rotary positions without the sections for time, height and width, which share the angles of a head."""
    if not isinstance(value, dict):
        return value
    plain = {name: each for name, each in value.items() if name not in SECTIONS}
    return plain | {name: "default" for name in ("type", "rope_type") if value.get(name) == "mrope"}


# What a field that changes nothing may hold: of another sort, it is no config that a class reads.
HOLDS: Mapping[str, Callable[[Any], bool]] = {
    "bool": lambda value: isinstance(value, bool),
    "off": lambda value: value is False,
    "int": lambda value: type(value) is int and value > 0,
    "integer": lambda value: type(value) is int,
    "float": lambda value: isinstance(value, float) or type(value) is int,
    "positive": lambda value: type(value) in (int, float) and value > 0,
    "null": lambda value: value is None,
    "numbers": lambda value: isinstance(value, list) and all(type(each) in (int, float) for each in value),
    "words": lambda value: isinstance(value, list) and all(isinstance(each, str) for each in value),
    "object": lambda value: isinstance(value, dict),
    "empty": lambda value: value == [],
    "text": lambda value: isinstance(value, str),
    "function": lambda value: value in (*get_args(Activation), "swish"),  # as some configs call silu
    "token": lambda value: value is None or type(value) is int or isinstance(value, list),
    "rotary": _rotary,
    "rotary part": _rotary_part,
    "rotary kinds": lambda value: (
        isinstance(value, dict) and all(isinstance(v, dict) and _rotary_part(v) for v in value.values())
    ),
}
KINDS = "kinds"  # of a list with one of a few names for each layer: "kinds:full_attention,sliding_attention"

NAMED = "named"  # one of a few names: "named:kimi_k2"
PLACED = "places"  # of a list of so many places: "places:3"


def holds(sort: str, value: Any, layers: int = 0) -> bool:
    """Return whether a value is of one of these sorts; a list of kinds needs one entry per layer.

    >>> holds("int|null", None), holds("int|null", -1), holds("kinds:conv,attention", ["conv", "conv"], 2)
    (True, False, True)
    """
    for each in sort.split("|"):
        name, _, known = each.partition(":")
        if name == KINDS:
            right = isinstance(value, list) and len(value) == layers and {*map(str, value)} <= {*known.split(",")}
        elif name == NAMED:
            right = value in known.split(",")
        elif name == PLACED:
            right = isinstance(value, list) and len(value) == int(known) and all(map(HOLDS["integer"], value))
        else:
            right = HOLDS[name](value)
        if right:
            return True
    return False


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
    needed: tuple[str, ...] = ()  # parts that a config has to give
    least: Mapping[str, int] = field(default_factory=dict)  # sizes that the formulas do not hold below
    unsaid: tuple[str, ...] = ()  # fields whose own usual value means something else where a config gives it
    written: tuple[str, ...] = ()  # of these, those that a config may give all together where it is wholly as usual
    depths: Mapping[str, str] = field(default_factory=dict)  # by part, the field that says how long its lists are
    idle: Mapping[str, str] = field(default_factory=dict)  # fields that change nothing -> what they hold, of HOLDS
    stored: Mapping[str, str] = field(default_factory=dict)  # and those that change nothing that is stored
    aliases: Mapping[str, str] = field(default_factory=dict)  # other names of fields -> those that they stand for
    hoisted: str = ""  # the part whose fields stand at the top of a config that does not give that part
    kinds: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # lists of kinds of layers -> a size of each
    cut: tuple[str, ...] = ()  # of these lists, those of which the class reads as many entries as it has layers
    indexed: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # lists of places -> a size "in" and "out"
    deep: str = ""  # the number of layers, where a class does not take it from such a list
    closing: str = ""  # the size that counts the kind of layer that such a list has to end with
    steps: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # lists of one kind, a size of it, and another
    asks: tuple[str, ...] | None = None  # other names that its code may ask for; None where these are not known
    whole: bool = False  # whether these are all that its own code may ask for, and not only what no common code does
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
    absent: tuple[str, ...] = ()  # sizes that count the layers of a kind of which there are none


def variants(name: str, model_type: str) -> Iterator[Kept]:
    """Yield the entries of a class for configs of a type: first the default one, then those with other given fields."""
    number = 1
    while (kept := on_shelf(name, model_type, number)) is not None:
        yield kept
        number += 1


@cache
def on_shelf(name: str, model_type: str, number: int = 1) -> Kept | None:
    """What is kept of a class for configs of a type, if anything. Raises CatalogueError where it is damaged."""
    place = FOLDER / f"{name}.{model_type}{VARIANT * (number > 1)}{number if number > 1 else ''}.json"
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


def shelved_name(name: str, model_type: str) -> str:
    """Return the name of a class's entry; a config may spell the name with other case and underscores."""
    if not TYPE.fullmatch(model_type) or max(len(name), len(model_type)) > LONGEST:
        return name
    if (FOLDER / f"{name}.{model_type}.json").is_file():
        return name
    found = (place.name.partition(".")[0] for place in FOLDER.glob(f"*.{model_type}.json"))
    return next((each for each in sorted(found) if spelling(each) == spelling(name)), name)


def classes() -> list[tuple[str, str]]:
    """The classes that have an entry, each with the model type whose configs are read as it."""
    found = (place.stem.partition(".") for place in FOLDER.glob("*.json") if place.name[0] != "_")
    return sorted((name, model_type) for name, _, model_type in found if VARIANT not in model_type)


def of_type(model_type: str) -> tuple[Find, dict[str, Any]] | None:
    """What the catalogue knows of a model type with no sizes of its own, and a config that has the same sizes.

    None for a type that it does not hold.
    """
    filed = filed_types().get(model_type)
    kept = on_shelf(filed.name, model_type) if filed is not None else None
    if kept is None:
        return None
    heads = {HEAD: kept.entry.sizes[HEAD]} if HEAD in kept.entry.follows and not kept.entry.part else {}
    return finder(kept, Matched({})), {"model_type": model_type, **heads}


def finder(kept: Kept, at: Matched, assumed: tuple[str, ...] = ()) -> Find:
    """What is kept of a class with these sizes and switches, by quantity."""
    name = kept.entry.name
    if len(at.turned) > 1:
        turned = " and ".join(sorted(field for turn in at.turned for field in kept.turns[turn].fields))
        assumed = (*assumed, f"what {turned} change was read one at a time, and is added up")

    def known(quantity: str) -> Record:
        if at.unknown and quantity != STORED:
            raise CatalogueError(f"what {' and '.join(at.unknown)} of {name} change in a run is not in the catalogue")
        found = record(kept, at.turned, quantity, at.absent)
        if found is None and (operations := record(kept, at.turned, OPERATIONS, at.absent)) is not None:
            found = operations if quantity in operations.operations.confirmed else None
        if found is None:
            why = f": {kept.entry.unrun}" if kept.entry.unrun else ""
            raise CatalogueError(f"the catalogue has nothing of {quantity} for {name}{why}")
        if why := broken(found, at.numbers):
            raise CatalogueError(f"what the catalogue has of {quantity} for {name} is not for this config: {why}")
        return replace(found, config=at.numbers, assumed=assumed, by="catalogue")

    return known


@cache
def record(kept: Kept, turned: tuple[int, ...], quantity: str, absent: tuple[str, ...] = ()) -> Record | None:
    """Return the record of a quantity with some switches, if known, without the layers of absent kinds.

    Raises CatalogueError where the turns change the same.
    """
    usual = kept.records.get(quantity)
    others = [kept.turns[turn].records.get(quantity) for turn in turned]
    if usual is None or None in others:
        return None
    data = merged(usual, [long(each, usual) for each in others])
    if len({*data["letters"].values()}) < len(data["letters"]):
        raise CatalogueError(f"{kept.entry.name} has two sizes with one letter")
    with_letters(data["letters"])
    found: Record = from_data(Record, without(data, absent) if absent else data)
    return found


def counted_kinds(entry: Shelved) -> tuple[str, ...]:
    """Return the sizes that count the layers of each kind, where a config lists these; () for any other class."""
    lists = (*entry.kinds.values(), *entry.indexed.values())
    return tuple(dict.fromkeys(each for known in lists for each in known.values()))


def part_of(name: str) -> str:
    """The part that has a field; "" for the whole."""
    return name.rpartition(".")[0]


def last(name: str) -> str:
    """The name of a field in the part that has it."""
    return name.rpartition(".")[2]


def broken(found: Record, numbers: Mapping[str, int]) -> str:
    """The condition of a record that some sizes break, of the sizes that its formulas leave out too; "" for none."""
    known = {SYMBOLS[letter]: numbers[name] for name, letter in found.letters.items() if name in numbers}
    for condition in (found.lifted or found.counted).constraints:
        try:
            condition.check(known)
        except SizeError as error:
            return str(error)
    return ""


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


@cache
def filed_types() -> Mapping[str, Filed]:
    """Every model type of transformers, and the class that it is read as where a config names none."""
    place = FOLDER / TYPES
    found: Mapping[str, Any] = json.loads(place.read_text("utf-8")) if place.is_file() else {}
    return {model_type: Filed(**each) for model_type, each in found.items()}
