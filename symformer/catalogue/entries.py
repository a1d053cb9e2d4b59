"""The catalogue in the package: formulas of torch classes, found from their configs without torch.

The entry of a class has its formulas at the default config, and the changes for each supported switch setting.
config_match.py determines whether a config matches an entry. A config without a matching entry is not supported.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, get_args

from sympy import Expr

from ..configs.common_fields import spelling
from ..configs.rotary import ROPES, check_rotary
from ..language.errors import CatalogueError, ConfigError, SizeError, SymformerError
from ..language.letter_rules import letters_of_fields, other_names
from ..language.symbols import named_symbol
from ..ledger.facts import Activation
from .codec import from_data
from .json_merge import expand_rows, merge, without_sizes
from .measured_model import STORED
from .record import OPERATIONS, Find, Record

FOLDER: Traversable = files("symformer.catalogue") / "shelf"
TYPES = "_types.json"  # the default class of each model type
COMMON = "_common.json"  # the field names that the library's common code can read from any config
LIVE = "_live.json"  # the common names that have an effect, or may have one that a run does not show
CLASS_FIELDS = ("architectures", "model_type")  # fields that name the class and do not affect its structure
LONGEST = 100  # characters of a class name and of a model type, which are parts of the file name
TYPE = re.compile(r"[a-z0-9][a-z0-9_-]*(\.[a-z0-9_-]+)*", re.IGNORECASE)
LONG_ROPES = (*ROPES, "longrope", "su")  # the rotary types that do not change the shape of the angles
SECTIONS = ("mrope_section", "mrope_interleaved", "long_mscale", "short_mscale")  # fields that affect only the angles
HEAD = "head_dim"  # optional in many configs; its default is in the code of the class
VARIANT = "+"  # in file names, separates the type and the number of a further entry of the same class
EACH = "layers"  # the key of a pattern of layers that repeats at any depth


def _rotary(value: Any, partly: bool = False) -> bool:
    try:
        check_rotary("rope_parameters", _one_section(value), LONG_ROPES, partly)
    except ConfigError:
        return False
    return True


def _rotary_part(value: Any) -> bool:
    return _rotary(value, partly=True)


def _one_section(value: Any) -> Any:
    """Return rotary parameters without the sections for time, height and width, which share the angles of a head."""
    if not isinstance(value, dict):
        return value
    plain = {name: each for name, each in value.items() if name not in SECTIONS}
    return plain | {name: "default" for name in ("type", "rope_type") if value.get(name) == "mrope"}


# The kinds of values that a field without effect may have. A class does not accept other kinds.
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
    "function": lambda value: value in (*get_args(Activation), "swish"),  # "swish" is another name of silu
    "token": lambda value: value is None or type(value) is int or isinstance(value, list),
    "rotary": _rotary,
    "rotary part": _rotary_part,
    "rotary kinds": lambda value: (
        isinstance(value, dict) and all(isinstance(v, dict) and _rotary_part(v) for v in value.values())
    ),
}
KINDS = "kinds"  # a list with one of a few names for each layer: "kinds:full_attention,sliding_attention"

NAMED = "named"  # one of a few names: "named:kimi_k2"
PER_LAYER = "per layer"  # a list with a positive integer for each layer
PLACED = "places"  # a list of that many indices: "places:3"


def holds(sort: str, value: Any, layers: int = 0) -> bool:
    """Return True if a value is of one of these kinds. A list of layer kinds needs one entry per layer.

    >>> holds("int|null", None), holds("int|null", -1), holds("kinds:conv,attention", ["conv", "conv"], 2)
    (True, False, True)
    >>> holds("int|per layer", [8, 16], 2), holds("int|per layer", [8, 16], 3)
    (True, False)
    """
    for each in sort.split("|"):
        name, _, known = each.partition(":")
        if name == KINDS:
            right = isinstance(value, list) and len(value) == layers and {*map(str, value)} <= {*known.split(",")}
        elif name == PER_LAYER:
            right = isinstance(value, list) and len(value) == layers and all(map(HOLDS["int"], value))
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
class ClassConfig:
    """The config fields of a class and their meanings. A field of a part is written text_config.hidden_size."""

    name: str  # of the class
    model_type: str  # of the configs that the class reads
    versions: Mapping[str, str]
    part: str = ""  # the nested config from which the class is built, if the config contains several
    parts: tuple[str, ...] = ()  # fields that contain nested configs
    lists: Mapping[str, int] = field(default_factory=dict)  # fields that list sizes -> their length
    sizes: Mapping[str, int]  # fields that are sizes -> their default
    default_formulas: Mapping[str, Expr] = field(default_factory=dict)  # sizes whose default depends on other sizes
    nullable: tuple[str, ...] = ()  # sizes in which null means the default
    required: tuple[str, ...] = ()  # required fields; fields of a part only if the config has the part
    required_parts: tuple[str, ...] = ()  # required parts
    minimums: Mapping[str, int] = field(default_factory=dict)  # sizes -> the minimum for which the formulas hold
    unstated_defaults: tuple[str, ...] = ()  # fields whose default value has another meaning if a config states it
    stated_together: tuple[
        str, ...
    ] = ()  # fields of ``unstated_defaults`` that a fully default config may state, but only all together
    list_depths: Mapping[str, str] = field(default_factory=dict)  # part -> the field that is the length of its lists
    inert: Mapping[str, str] = field(default_factory=dict)  # fields without effect -> kinds of values, see HOLDS
    inert_for_params: Mapping[str, str] = field(default_factory=dict)  # without effect on parameters -> the same
    aliases: Mapping[str, str] = field(default_factory=dict)  # alias -> field
    top_level_part: str = ""  # the part whose fields are at the top level of a config without that part
    layer_kinds: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # list of layer kinds -> kind -> size
    truncated_lists: tuple[str, ...] = ()  # those lists that may be longer than the number of layers
    index_lists: Mapping[str, Mapping[str, str]] = field(
        default_factory=dict
    )  # list of layer indices -> "in": the size that counts these layers, "out": the size that counts the others
    depth_field: str = ""  # the field of the number of layers, if the class reads one
    final_kind: str = ""  # the size of the layer kind with which such a list must end
    two_kind_lists: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict
    )  # list -> first kind, its size, second kind
    names_read: tuple[str, ...] | None = None  # other names that its code can read; None if not known
    common_names_read: bool = False  # whether ``names_read`` includes names that common code also reads
    single_switches: bool = False  # whether only the effect of each switch alone is known
    constants: tuple[str, ...] = ()  # vocabularies, widths, layers or heads that are constants in its formulas
    run_refusal: str = ""  # why only its parameters are known


@dataclass(frozen=True, kw_only=True)
class OptionEffect:
    """A set of non-default switches and the records of the class with exactly these switches set.

    Without records, the combined effect of these switches is not known.
    """

    fields: Mapping[str, Any]
    changed_defaults: Mapping[str, Any] = field(
        default_factory=dict
    )  # other fields whose defaults change with the switches
    records: Mapping[str, Any]  # as JSON data; rows of the default records are given by index


@dataclass(frozen=True, kw_only=True, eq=False)
class CatalogueEntry:
    """The catalogue's entry of a class. Its records are parsed on first use."""

    config: ClassConfig
    switches: Mapping[str, Any]  # every other field -> its default, including the default rotary parameters
    records: Mapping[str, Any]
    option_effects: tuple[OptionEffect, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CensusEntry:
    """A model type and the class of its configs that do not name one."""

    name: str = ""  # of the class; "" if it cannot be imported
    head: str  # the head of that class, one of HEADS
    why: str = ""  # why the catalogue has no entry of it
    builds: bool = True  # whether its default config builds


@dataclass(frozen=True)
class ConfigMatch:
    """The sizes and switch settings of a config that matches an entry."""

    numbers: Mapping[str, int]
    effects: tuple[int, ...] = ()  # indices in CatalogueEntry.option_effects
    unknown: tuple[str, ...] = ()  # non-default fields whose effect is known only for the parameters
    absent: tuple[str, ...] = ()  # sizes that count the layers of a kind that the config does not have


def variants(name: str, model_type: str) -> Iterator[CatalogueEntry]:
    """Yield the entries of a class for configs of a type, the default one first."""
    number = 1
    while (kept := find_entry(name, model_type, number)) is not None:
        yield kept
        number += 1


@cache
def find_entry(name: str, model_type: str, number: int = 1) -> CatalogueEntry | None:
    """Return the entry of a class for configs of a type, or None. Raises CatalogueError for a damaged file."""
    place = FOLDER / f"{name}.{model_type}{VARIANT * (number > 1)}{number if number > 1 else ''}.json"
    if not name.isidentifier() or not TYPE.fullmatch(model_type) or max(len(name), len(model_type)) > LONGEST:
        return None
    if not place.is_file():
        return None
    try:
        kept = read(json.loads(place.read_text("utf-8")))
        if record(kept, (), STORED) is None:
            raise CatalogueError("no formula of its parameters")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, SymformerError) as error:
        why = " ".join(str(error).split())[:80]
        raise CatalogueError(
            f"the catalogue's file of {name} is damaged ({type(error).__name__}: {why}); reinstall symformer"
        ) from None
    return kept


def read(data: Mapping[str, Any]) -> CatalogueEntry:
    """Return the entry in the data of a file. Raises CatalogueError."""
    return CatalogueEntry(
        config=from_data(ClassConfig, data["config"]),
        switches=data["switches"],
        records=data["records"],
        option_effects=tuple(OptionEffect(**each) for each in data["option_effects"]),
    )


def entry_name(name: str, model_type: str) -> str:
    """Return the entry's name of a class, which a config may spell with other case and underscores."""
    if not TYPE.fullmatch(model_type) or max(len(name), len(model_type)) > LONGEST:
        return name
    if (FOLDER / f"{name}.{model_type}.json").is_file():
        return name
    found = (class_name for class_name, other in _named_files() if other == model_type)
    return next((each for each in sorted(found) if spelling(each) == spelling(name)), name)


def classes() -> list[tuple[str, str]]:
    """Return the classes that have an entry, each with its model type."""
    return sorted((name, model_type) for name, model_type in _named_files() if VARIANT not in model_type)


def _named_files() -> Iterator[tuple[str, str]]:
    """Yield the class and the model type in the name of each entry's file."""
    for place in FOLDER.iterdir():
        if place.name.endswith(".json") and not place.name.startswith("_"):
            name, _, model_type = place.name.removesuffix(".json").partition(".")
            yield name, model_type


def entries_of(model_type: str) -> Iterator[CatalogueEntry]:
    """Yield the entries of all classes of a model type."""
    for name, other in classes():
        if other == model_type:
            yield from variants(name, model_type)


def of_type(model_type: str) -> tuple[Find, dict[str, Any]] | None:
    """Return the records of a model type at its default sizes, and a config with these sizes.

    Return None if the catalogue does not have the type.
    """
    filed = census_types().get(model_type)
    kept = find_entry(filed.name, model_type) if filed is not None else None
    if kept is None:
        return None
    heads = {HEAD: kept.config.sizes[HEAD]} if HEAD in kept.config.default_formulas and not kept.config.part else {}
    return finder(kept, ConfigMatch({})), {"model_type": model_type, **heads}


def _patterns(kept: CatalogueEntry, at: ConfigMatch, quantity: str) -> dict[str, tuple[str, ...]]:
    """Return the lists of layer kinds that can affect a formula, with the kinds that each must repeat."""
    changed = {field for turn in at.effects for field in kept.option_effects[turn].fields}
    silent = kept.config.inert_for_params if quantity == STORED else {}
    found = {}
    for name, value in kept.switches.items():
        kinds = value.get("layers", ()) if isinstance(value, Mapping) else ()
        if len(set(map(str, kinds))) > 1 and name not in changed and name not in silent:
            found[name] = tuple(map(str, kinds))
    return found


def finder(kept: CatalogueEntry, at: ConfigMatch, assumed: tuple[str, ...] = ()) -> Find:
    """Return the function that finds the records of a class with these sizes and switches, by quantity."""
    name = kept.config.name
    if len(at.effects) > 1:
        turned = " and ".join(sorted(field for turn in at.effects for field in kept.option_effects[turn].fields))
        assumed = (*assumed, f"the effects of {turned} were traced one at a time and added")

    def known(quantity: str) -> Record:
        if at.unknown and quantity != STORED:
            raise CatalogueError(f"the effect of {' and '.join(at.unknown)} on a run of {name} is not in the catalogue")
        found = record(kept, at.effects, quantity, at.absent)
        if found is None and (operations := record(kept, at.effects, OPERATIONS, at.absent)) is not None:
            found = operations if quantity in operations.operations.confirmed else None
        if found is None:
            if why := kept.config.run_refusal:
                error = CatalogueError(f"the catalogue has only params for {name}, not {quantity}: {why}")
                error.run_refusal = why
                raise error
            raise CatalogueError(f"the catalogue has no {quantity} for {name}")
        if why := violated_condition(found, at.numbers):
            raise CatalogueError(f"the catalogue's {quantity} for {name} does not apply to this config: {why}")
        reading = found.reading
        if reading is not None:
            reading = replace(reading, patterns=_patterns(kept, at, quantity))
        return replace(found, config=at.numbers, assumed=assumed, by="catalogue", reading=reading)

    return known


@cache
def record(kept: CatalogueEntry, turned: tuple[int, ...], quantity: str, absent: tuple[str, ...] = ()) -> Record | None:
    """Return the record of a quantity with some switches set and without absent layer kinds, or None if not known.

    Raises CatalogueError if the changes of two switches conflict.
    """
    usual = kept.records.get(quantity)
    others = [kept.option_effects[turn].records.get(quantity) for turn in turned]
    if usual is None or None in others:
        return None
    data = merge(usual, [expand_rows(each, usual) for each in others])
    if len({*data["letters"].values()}) < len(data["letters"]):
        raise CatalogueError(f"{kept.config.name} has two sizes with the same letter")
    return relettered(without_sizes(data, absent) if absent else data, letters(kept), names(kept))


def relettered(data: Mapping[str, Any], letters: Mapping[str, str], names: Mapping[str, str]) -> Record:
    """Return the record in the data of a file, with other letters.

    A file names some sizes by their config fields; ``letters`` has the letter of every field.
    """
    moved = {stored: letters[field] for field, stored in data["letters"].items() if letters[field] != stored}
    places = {moved.get(stored, stored): place for stored, place in data.get("places", {}).items()}
    own = {field: letters[field] for field in data["letters"]}
    found: Record = from_data(Record, {**data, "letters": own, "places": places}, moved)
    return replace(found, names=names)


@cache
def letters(kept: CatalogueEntry) -> Mapping[str, str]:
    """Return the letter of every size of a class."""
    return letters_of_fields({*letters_of(kept), *kept.config.sizes, *_stored_letters(kept)})


@cache
def names(kept: CatalogueEntry) -> Mapping[str, str]:
    """Return the other names of the sizes of a class: their config fields, and their names in the file."""
    return other_names(letters(kept), _stored_letters(kept))


def counted_kinds(entry: ClassConfig) -> tuple[str, ...]:
    """Return the sizes that count the layers of each kind, or () for a class without lists of layer kinds."""
    lists = (*entry.layer_kinds.values(), *entry.index_lists.values())
    return tuple(dict.fromkeys(each for known in lists for each in known.values()))


def part_of(name: str) -> str:
    """Return the part that has a field, or "" for the top level."""
    return name.rpartition(".")[0]


def field_name(name: str) -> str:
    """Return the name of a field without its part."""
    return name.rpartition(".")[2]


def violated_condition(found: Record, numbers: Mapping[str, int]) -> str:
    """Return the first condition of a record that some sizes violate, or ""."""
    known = {named_symbol(letter): numbers[name] for name, letter in found.letters.items() if name in numbers}
    for condition in (found.lifted or found.counted).constraints:
        try:
            condition.check(known)
        except SizeError as error:
            return str(error)
    return ""


@cache
def letters_of(kept: CatalogueEntry) -> Mapping[str, str]:
    """Return the letter of every size, as used in `ClassConfig.follows`."""
    found: dict[str, str] = {}
    for name, letter in _stored_letters(kept).items():
        if letter not in found.values():
            found[name] = letter
    return found


def _stored_letters(kept: CatalogueEntry) -> dict[str, str]:
    """Return the name of every size in the first record that has it."""
    found: dict[str, str] = {}
    for known in (kept.records, *(turn.records for turn in kept.option_effects)):
        for record in known.values():
            for name, letter in record["letters"].items():
                found.setdefault(name, letter)
    return found


def equal_values(ours: Any, theirs: Any, depth: int) -> bool:
    """Return True if two values of a field are equal; true and 1 differ, and patterns are expanded to ``depth``."""
    if isinstance(ours, dict) and [*ours] == [EACH]:
        ours = [ours[EACH][layer % len(ours[EACH])] for layer in range(depth)]
    return json.dumps(ours, sort_keys=True) == json.dumps(theirs, sort_keys=True)


@cache
def census_types() -> Mapping[str, CensusEntry]:
    """Return every model type of transformers, with the class of its configs that do not name one."""
    place = FOLDER / TYPES
    found: Mapping[str, Any] = json.loads(place.read_text("utf-8")) if place.is_file() else {}
    return {model_type: CensusEntry(**each) for model_type, each in found.items()}
