"""Match a config with the catalogue's entry of its class: find its sizes and switches, or the first unsupported field.

A config matches if every field is a size, a known switch setting, a field known to have no effect, or at its default.
An unknown field is never ignored.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Any

from sympy import Integer

from ..configs.common_fields import CROSS_ATTENTION, INERT, adds_weights
from ..configs.rotary import PARTLY
from ..language.errors import CatalogueError, quoted
from ..language.sizes import substitute
from ..language.symbols import named_symbol
from ..models.provenance import TRACE_AGAIN
from .entries import (
    CLASS_FIELDS,
    COMMON,
    FOLDER,
    KINDS,
    LIVE,
    CatalogueEntry,
    ClassConfig,
    ConfigMatch,
    census_types,
    counted_kinds,
    entries_of,
    entry_name,
    equal_values,
    field_name,
    find_entry,
    finder,
    holds,
    letters_of,
    part_of,
    record,
    variants,
    violated_condition,
)
from .json_merge import merge
from .measured_model import STORED
from .record import Find

TIED = "tie_word_embeddings"
THETA, SCALING = "rope_theta", "rope_scaling"  # rotary fields that configs use in addition to rope_parameters
WINDOWS = ("sliding_window", "use_sliding_window", "max_window_layers", "attention_chunk_size")
ANY_WINDOW = "int|bool|null"
PATTERN = "sliding_window_pattern"
CHECKPOINTING = "gradient_checkpointing"
DEPTH = "num_hidden_layers"
NEAR = 0.9  # the similarity above which one name can be a misspelling of another
WORDS = {"pos_att_type"}  # lists of words that a config can write as one text, p2c|c2p
LABELS, NAMES = "num_labels", "id2label"  # the number of a classifier's labels, and their names


def find(config: Mapping[str, Any]) -> Find | None:
    """Return the catalogue's records for a config, by quantity, or None if it has no entry of this structure."""
    for name, model_type in _classes(config):
        for kept in variants(name, model_type):
            if (at := match_or_none(kept, config)) is not None:
                made = f", built from {kept.config.part}" if kept.config.part else ""
                assumed = (f"no 'architectures' field, so read as {name}{made}",) * (
                    config.get("architectures") is None
                )
                fields = (field for turn in at.effects for field in kept.option_effects[turn].fields.items())
                tied = next((value for field, value in fields if field_name(field) == TIED), None)
                if tied is not None:
                    shares = "shares the token embedding" if tied else "has its own table"
                    assumed = (*assumed, f"{TIED}={str(tied).lower()}: the head {shares}")
                return finder(kept, at, assumed)
    return None


def refusal_reason(config: Mapping[str, Any]) -> str:
    """Return why the catalogue does not support a config, or "" if it does not have the class."""
    for name, model_type in _classes(config):
        if (kept := find_entry(name, model_type)) is None:
            filed = census_types().get(model_type)
            return f"the catalogue has no {name}: {filed.why}" if filed is not None and filed.name == name else ""
        try:
            match(kept, config)
        except CatalogueError as error:
            why = str(error).replace(f"; {TRACE_AGAIN}", "")
            return f"the catalogue's formulas of {name} do not cover this config: {why}"
    return ""


def unread_fields(config: Mapping[str, Any]) -> list[str]:
    """Return the fields of a config that its class does not read, or [] if the catalogue does not have its type.

    The entry of a class lists the names that occur in its modules. All classes of a type are defined in the same
    modules, so for a class without an entry, the entries of its type list them. A field with a name similar to a
    missing field may be a misspelling, so it is excluded.
    """
    for name, model_type in _classes(config):
        own = find_entry(name, model_type)
        entries = [own] if own is not None else [*entries_of(model_type)]
        if not entries or any(kept.config.part for kept in entries):
            return []
        known = {*INERT, *CLASS_FIELDS}.union(*map(_names, entries))
        left_out = known - config.keys()
        others = [each for each in config if each not in known]
        others = [each for each in others if all(_unasked(kept, each, config[each]) for kept in entries)]
        return [each for each in others if not get_close_matches(each, left_out, n=1, cutoff=NEAR)]
    return []


def match_or_none(kept: CatalogueEntry, config: Mapping[str, Any]) -> ConfigMatch | None:
    """Return the sizes and switch settings of a config of this class, or None if its structure is not known."""
    try:
        return match(kept, config)
    except CatalogueError:
        return None


def match(kept: CatalogueEntry, config: Mapping[str, Any]) -> ConfigMatch:
    """Return the sizes and switch settings of a config of this class. Raises CatalogueError for anything not known."""
    entry = kept.config
    fields = _fields(kept, config)
    counts = _counted(kept, fields)
    fields |= {name: number for name, number in counts.items() if number}
    absent = tuple(name for name, number in counts.items() if not number)
    numbers: dict[str, int] = {}
    free: list[str] = []
    for name, value in fields.items():
        if name in entry.sizes:
            if value is None and name in entry.nullable:
                continue
            if value is None and _unstored_window(kept, name):
                free.append(name)
                continue
            # A config that states a default is the same as one that omits it.
            if type(value) is not int or (value < entry.minimums.get(name, 1) and value != entry.sizes[name]):
                raise _strange(name, value)
            numbers[name] = value
        elif (
            name in entry.inert
            or name in entry.inert_for_params
            or (_ruled(kept, name) and name not in entry.unstated_defaults)
        ):
            free.append(name)
        elif (
            name not in kept.switches
            and field_name(name) not in (*INERT, *CLASS_FIELDS)
            and not _unasked(kept, name, value)
        ):
            raise _strange(name, value)
    # Fields that a config derives from others. Lists that are checked elsewhere are allowed.
    made = [name for name in entry.unstated_defaults if name in fields and name not in entry.two_kind_lists]
    if made and not {*made} <= {*entry.stated_together} <= fields.keys():
        raise _strange(made[0], fields[made[0]])
    given = {name.partition(".")[0] for name in fields}
    for part in entry.required_parts:
        if part not in given:
            raise CatalogueError(f"it has no {part}")
    for name in entry.required:
        if name not in fields and name not in entry.inert and ("." not in name or name.partition(".")[0] in given):
            raise CatalogueError(f"it has no {name}")
    left = [name for name in entry.sizes if name not in numbers and name not in absent]
    # A missing part has its default sizes, so none of its sizes follows from others.
    follows = [n for n in left if n in entry.default_formulas and ("." not in n or n.partition(".")[0] in given)]
    numbers |= {name: entry.sizes[name] for name in left if name not in follows}
    _follow(kept, numbers, follows)
    for name in numbers.keys() & kept.switches.keys():  # known at one value only
        if numbers[name] != kept.switches[name]:
            raise _strange(name, numbers[name])
    unknown = [name for name in free if not _inert(kept, name, fields[name], _layers(entry, name, numbers))]
    _check_depths(kept, fields, numbers)
    _check_steps(kept, fields, numbers)
    turned = _turned(kept, fields, numbers)
    if made and (turned or numbers != entry.sizes):
        raise _strange(made[0], fields[made[0]])
    stored = record(kept, turned, STORED, absent)
    if stored is None:
        names = [name for turn in turned for name in kept.option_effects[turn].fields]
        raise CatalogueError(f"the combined effect of {' and '.join(dict.fromkeys(names))} is not known")
    if why := violated_condition(stored, numbers):
        raise CatalogueError(why)
    return ConfigMatch(numbers, turned, tuple(unknown), absent)


def _inert(kept: CatalogueEntry, name: str, value: Any, layers: int) -> bool:
    """Return True if a value has no effect, or False if it has no effect on parameters only.

    Raises CatalogueError if neither is known.
    """
    if name in kept.switches and equal_values(kept.switches[name], value, layers):
        return True
    usual = kept.switches.get(_rotary_field(name))
    part = usual.get(PARTLY) if isinstance(usual, Mapping) else None
    if isinstance(value, Mapping) and part is not None and value.get(PARTLY) == part:
        value = {each: given for each, given in value.items() if each != PARTLY}
    if field_name(name) == PARTLY and part is not None and value == part:
        return True
    ruled = _ruled(kept, name) or ("", "")
    tried = (kept.config.inert.get(name, ""), kept.config.inert_for_params.get(name, ""))
    if field_name(name) == CHECKPOINTING:
        tried = ("", "")
    inert, stored = ("|".join(filter(None, (here, rule))) for here, rule in zip(tried, ruled, strict=True))
    stored = "|".join(filter(None, (stored, ANY_WINDOW if field_name(name) in WINDOWS else "")))
    if inert and holds(inert, value, layers):
        return True
    if stored and holds(stored, value, layers):
        return False
    raise _strange(name, value)


def _ruled(kept: CatalogueEntry, name: str) -> tuple[str, str] | None:
    """Return the kinds of values without effect, and those without effect on parameters, for fields of any class.

    Rotary embeddings have no parameters. Their angles do not affect any count, but the rotary fraction of a head can
    affect a run. So can a window, which some classes read from any config. Return None for any other field.
    """
    entry, word = kept.config, field_name(name)
    if word == CHECKPOINTING and name not in kept.switches:  # if it is on, the backward pass recomputes
        return "off|null", "bool"
    rotary = _rotary_field(name)
    turning = "rotary" in entry.inert.get(rotary, "").split("|")
    if name == rotary and (name in entry.inert or name in entry.inert_for_params):
        return None
    if name in entry.sizes:
        return ("", "null") if _unstored_window(kept, name) else None
    if name in kept.switches and word != PATTERN:
        return ("", "rotary part|rotary kinds") if name == rotary else ("", ANY_WINDOW) if word in WINDOWS else None
    if word == THETA:
        return "positive|null", ""
    if word == PATTERN:  # which layers have a window, if that has no effect on parameters
        listed = entry.inert_for_params.get(f"{part_of(name)}.layer_types".lstrip("."), "")
        return ("", "int|text|null") if f"{KINDS}:" in listed else None
    if word == PARTLY:
        return "null", "positive"
    if word == SCALING:
        return ("rotary|null" if turning else "null"), ("rotary part" if turning or rotary in kept.switches else "")
    if word in WINDOWS:
        return "null", ANY_WINDOW
    if word in CROSS_ATTENTION and name not in _names(kept):
        return CROSS_ATTENTION[word], ""
    return None


def _unstored_window(kept: CatalogueEntry, name: str) -> bool:
    """Return True if a size is a window, which may be null, and is not a dimension of any weight."""
    letter = kept.records[STORED]["letters"].get(name)
    return field_name(name) in WINDOWS and letter not in kept.records[STORED].get("places", {})


def _rotary_field(name: str) -> str:
    """Return the name of the rotary field in the part that has this field."""
    return f"{part_of(name)}.rope_parameters".lstrip(".")


def _counted(kept: CatalogueEntry, fields: dict[str, Any]) -> dict[str, int]:
    """Remove the lists of layer kinds from the fields, and return the number of layers of each kind.

    Raises CatalogueError for an unknown kind, and for lists or a depth that contradict each other.
    """
    entry = kept.config
    found: dict[str, int] = {}
    lists = [*entry.layer_kinds, *entry.index_lists]
    deep = f"{part_of(lists[0])}.{DEPTH}".lstrip(".") if lists else ""
    depth = fields.pop(deep, None) if lists else None
    for name, known in entry.layer_kinds.items():
        if (listed := fields.pop(name, None)) is None:
            continue
        if (
            name in entry.truncated_lists
            and type(depth) is int
            and isinstance(listed, list)
            and 0 < depth < len(listed)
        ):
            listed = listed[:depth]
        if not isinstance(listed, (str, list)) or not listed or any(_word(each) not in known for each in listed):
            raise _strange(name, listed)
        if entry.final_kind and field_name(known[_word(listed[-1])]) != entry.final_kind:
            raise _strange(name, listed)
        counts = dict.fromkeys(known.values(), 0)
        for each in listed:
            counts[known[_word(each)]] += 1
        if found and found != counts:
            raise _strange(name, listed)
        found = counts
    for name, sides in entry.index_lists.items():  # read only if none of the lists of kinds is present
        if (listed := fields.pop(name, None)) is None or found:
            continue
        if not isinstance(listed, list) or type(depth) is not int or not _placed(listed, depth):
            raise _strange(name, listed)
        found = {sides["in"]: len(listed), sides["out"]: depth - len(listed)}
    if lists and not found and not fields.keys() & {*counted_kinds(entry)}:
        raise CatalogueError(f"it has no {lists[0]}")
    if found and depth is None and entry.depth_field:
        raise CatalogueError(f"it has no {entry.depth_field}")
    if depth is not None and depth != sum(found.values()):
        raise _strange(deep, depth)
    return found


def _placed(listed: Sequence[Any], depth: int) -> bool:
    """Return True if a list has distinct layer indices below ``depth``."""
    return len({*map(str, listed)}) == len(listed) and all(type(each) is int and 0 <= each < depth for each in listed)


def _word(kind: Any) -> Any:
    """Return the name of a layer kind, which a list may give as a number."""
    return str(kind) if type(kind) is int else kind if isinstance(kind, str) else None


def _strange(name: str, value: Any) -> CatalogueError:
    shown = quoted(value) if isinstance(value, str) else quoted(json.dumps(value, default=str))[1:-1]
    return CatalogueError(f"{quoted(name)[1:-1]} is {shown}")


def _unasked(kept: CatalogueEntry, name: str, value: Any) -> bool:
    """Return True if an unknown field is a dropout probability, or if the code of the class does not read it."""
    entry = kept.config
    word = field_name(name)
    if entry.names_read is None or not word[:1].islower() or (name != word and word in _words(kept)):
        return False
    if adds_weights(word, value, (*entry.sizes, *entry.inert, *entry.inert_for_params, *kept.switches)):
        return False
    return (isinstance(value, float) and "dropout" in word) or word not in {
        *entry.names_read,
        *common_field_names(entry.common_names_read),
    }


def _fields(kept: CatalogueEntry, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a config, with the path of nested fields and the index of list elements in their names.

    Raises CatalogueError for a config of another type, with other parts, or with other lists.
    """
    entry = kept.config
    own = config.get(entry.part) if entry.part else config
    if config.get("model_type") != entry.model_type or not isinstance(own, Mapping):
        raise _strange(entry.part or "model_type", own if entry.part else config.get("model_type"))
    found: dict[str, Any] = {}
    for name, value in _parted(kept, own).items():
        if name not in entry.parts:
            found[name] = value
        elif not isinstance(value, Mapping):
            raise _strange(name, value)
        else:
            found |= {f"{name}.{inner}": each for inner, each in value.items()}
    _name_once(kept, found)
    for name in found.keys() & WORDS:
        if isinstance(found[name], str):
            found[name] = [word.strip() for word in found[name].lower().split("|")]
    for name, length in entry.lists.items():
        if name in found:
            value = found.pop(name)
            if not isinstance(value, list) or len(value) != length:
                raise _strange(name, value)
            found |= {f"{name}[{place}]": each for place, each in enumerate(value)}
    return found


def _parted(kept: CatalogueEntry, config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a config with the top-level fields of a missing part moved into the part, if the class reads them so."""
    part, known = kept.config.top_level_part, _names(kept)
    if not part:
        return config
    if isinstance(config.get(part), Mapping):
        return {name: value for name, value in config.items() if not _copied(kept, name, value, config[part])}
    own = {*kept.config.sizes, *kept.config.aliases, *kept.switches}  # top-level fields of the class itself
    inside = {name: each for name, each in config.items() if f"{part}.{name}" in known and name not in own}
    rest = {name: each for name, each in config.items() if name not in inside and name != part}
    return {**rest, part: inside} if inside else config


def _copied(kept: CatalogueEntry, name: str, value: Any, inside: Mapping[str, Any]) -> bool:
    """Return True if a top-level field is a copy of a field of the hoisted part, which the config gives as well.

    The class may ignore such a field, so a copy must be equal. Raises CatalogueError for a different value.
    """
    entry = kept.config
    field = entry.aliases.get(name, f"{entry.top_level_part}.{name}")
    own = {"model_type", *CLASS_FIELDS, *INERT, *entry.sizes, *entry.inert, *entry.inert_for_params, *kept.switches}
    if part_of(field) != entry.top_level_part or name in own or field not in _names(kept):
        return False
    names = {field, *(each for each, other in entry.aliases.items() if other == field)}
    given = [
        inside[field_name(each)]
        for each in names
        if part_of(each) == entry.top_level_part and field_name(each) in inside
    ]
    if not given and field not in entry.default_formulas and field in {**entry.sizes, **kept.switches}:
        given = [entry.sizes.get(field, kept.switches.get(field))]
    inert = entry.inert.get(field, "")
    if not (inert and holds(inert, value)) and not (given and all(equal_values(each, value, 0) for each in given)):
        raise _strange(name, value)
    return True


def _name_once(kept: CatalogueEntry, fields: dict[str, Any]) -> None:
    """Rename aliases to the names that the class reads. Raises CatalogueError if a field gets two values."""
    other = dict(kept.config.aliases)
    if LABELS in kept.config.sizes or LABELS in kept.switches:
        if isinstance(names := fields.get(NAMES), Mapping):
            fields[NAMES] = len(names)
        other[NAMES] = LABELS
    for name, field in other.items():
        if name in fields:
            value = fields.pop(name)
            if value is None and name == NAMES:
                continue
            if field in fields and not equal_values(fields[field], value, 0):
                raise _strange(name, value)
            fields[field] = value


@cache
def _names(kept: CatalogueEntry) -> frozenset[str]:
    """Return the known field names of a class."""
    entry = kept.config
    return frozenset({*entry.sizes, *entry.inert, *entry.inert_for_params, *kept.switches, *entry.aliases})


@cache
def _words(kept: CatalogueEntry) -> frozenset[str]:
    """Return the names of the fields of a class without their parts."""
    return frozenset(map(field_name, _names(kept)))


def _check_depths(kept: CatalogueEntry, fields: Mapping[str, Any], numbers: Mapping[str, int]) -> None:
    """Raise CatalogueError for a list of layers whose pattern is known only at another depth."""
    for name, value in kept.switches.items():
        usual, layers = (_layers(kept.config, name, sizes) for sizes in (kept.config.sizes, numbers))
        free = name in kept.config.inert or name in kept.config.inert_for_params or name in kept.config.two_kind_lists
        if name in fields and not free and isinstance(value, list) and len(value) == usual > 0 and layers != usual:
            raise _strange(name, fields[name])


def _check_steps(kept: CatalogueEntry, fields: Mapping[str, Any], numbers: Mapping[str, int]) -> None:
    """Raise CatalogueError for a list of layers other than the one that the class derives from a size and the depth."""
    for name, (first, size, then) in kept.config.two_kind_lists.items():
        if fields.get(name) is None:
            continue
        depth = _layers(kept.config, name, numbers)
        if fields[name] != [first if layer < numbers[size] else then for layer in range(depth)]:
            raise _strange(name, fields[name])


def _layers(entry: ClassConfig, name: str, numbers: Mapping[str, int]) -> int:
    """Return the number of layers of the part that has a field, or 0 if it is not known."""
    kinds = counted_kinds(entry)
    if kinds and part_of(kinds[0]) == part_of(name):
        return sum(numbers.get(each, 0) for each in kinds)
    return numbers.get(entry.list_depths.get(part_of(name), ""), 0)


def _turned(kept: CatalogueEntry, fields: Mapping[str, Any], numbers: Mapping[str, int]) -> tuple[int, ...]:
    """Return the indices of the switch settings of a config. Raises CatalogueError for other non-default fields."""

    def as_said(name: str, value: Any) -> bool:
        return equal_values(value, fields[name], _layers(kept.config, name, numbers))

    free = {*kept.config.inert, *kept.config.inert_for_params, *kept.config.two_kind_lists}  # checked elsewhere
    odd = {
        name: fields[name]
        for name, value in kept.switches.items()
        if name in fields and name not in free and not _ruled(kept, name) and not as_said(name, value)
    }
    names = {name for turn in kept.option_effects for name in turn.fields}
    asked = {name: value for name, value in odd.items() if name in names}
    fits = [
        place
        for place, turn in enumerate(kept.option_effects)
        if all(name in asked and as_said(name, value) for name, value in turn.fields.items())
    ]
    whole = [
        place
        for place in fits
        if not any(
            kept.option_effects[place].fields.keys() < kept.option_effects[other].fields.keys() for other in fits
        )
    ]
    if sorted(asked) != sorted(name for place in whole for name in kept.option_effects[place].fields):
        raise _strange(*next(iter(asked.items())))
    if kept.config.single_switches and len(whole) > 1:
        raise CatalogueError(f"the effect of {' and '.join(asked)} is known only for each of them alone")
    said = merge({}, [kept.option_effects[place].changed_defaults for place in whole])
    for name, value in said.items():
        if name in fields and not as_said(name, value):
            raise _strange(name, fields[name])
    for name, value in odd.items():
        if name not in asked and name not in said:
            raise _strange(name, value)
    return tuple(whole)


def _follow(kept: CatalogueEntry, numbers: dict[str, int], left: Sequence[str]) -> None:
    """Add the sizes that follow from others. Raises CatalogueError if one is not a positive integer."""
    if not left:
        return
    letters = letters_of(kept)
    while left:
        known = {named_symbol(letters[name]): number for name, number in numbers.items() if name in letters}
        ready = [name for name in left if kept.config.default_formulas[name].free_symbols <= known.keys()]
        for name in ready:
            value = substitute(kept.config.default_formulas[name], known)
            if not isinstance(value, Integer) or value < 1:
                raise CatalogueError(
                    f"it has no {name}, and its default {kept.config.default_formulas[name]} is not an integer"
                )
            numbers[name] = int(value)
        if not ready:
            raise CatalogueError(f"it has no {left[0]}, nor the sizes from which it follows")
        left = [name for name in left if name not in ready]


def _classes(config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the class that a config names, or the default class of its model type, and the type."""
    match config.get("architectures"), config.get("model_type"):
        case [str(name)], str(model_type):
            yield entry_name(name, model_type), model_type
        case None, str(model_type) if filed := census_types().get(model_type):
            yield filed.name, model_type


@cache
def common_field_names(whole: bool = True) -> frozenset[str]:
    """Return the field names that common code can read, or with ``whole`` only those that can have an effect."""
    place = FOLDER / (LIVE if whole else COMMON)
    return frozenset(json.loads(place.read_text("utf-8")))
