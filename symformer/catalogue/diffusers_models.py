"""The diffusers models of the catalogue: parameters from a config, without torch or diffusers.

The file of a class contains formulas and the published configs to which they apply. A formula applies to a config if
every field that is not one of its sizes has the same value as in one of its published configs. A missing field has the
default of the class. Any other config must be traced.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from ..configs.common_fields import adds_weights
from ..language.errors import CatalogueError, ConfigError, SymformerError, quoted
from ..language.letter_rules import letters_of_fields, other_names
from .entries import LONGEST, equal_values, relettered, violated_condition
from .measured_model import DIFFUSERS
from .record import Record

FOLDER: Traversable = files("symformer.catalogue") / DIFFUSERS
CLASS = "_class_name"
LONGEST_VALUE = 60  # characters of a field's value in a message


@dataclass(frozen=True, kw_only=True)
class Structure:
    """Published configs that share one formula and differ only in its sizes."""

    sources: tuple[str, ...]  # the repositories on the Hub and the model folders in them
    fields: Mapping[str, Any]  # the fields that are neither sizes nor at the default of the class
    sizes: Mapping[str, int]  # the sizes of the formula in the first of these configs
    notes: tuple[str, ...]  # the fixed lists and sizes for which the formula holds
    buffers: int  # the number of buffer elements that a checkpoint also stores, at these sizes
    formula: int  # the index of the formula in the file


@dataclass(frozen=True, kw_only=True, eq=False)
class DiffusersClass:
    """One diffusers class. Its formulas are parsed on first use."""

    name: str
    defaults: Mapping[str, Any]  # argument -> default
    required: tuple[str, ...]  # the arguments without a default
    structures: tuple[Structure, ...]
    rows: tuple[str, ...]  # the weights of all formulas, without duplicates
    formulas: tuple[Mapping[str, Any], ...]  # with the indices of their rows

    @property
    def arguments(self) -> tuple[str, ...]:
        """All arguments of the class."""
        return (*self.defaults, *self.required)


def find(config: Mapping[str, Any], path: str) -> Record | None:
    """Return the record of a diffusers config, or None if the catalogue has no formula for it.

    Parameters
    ----------
    config
        The fields of the config.
    path
        The name of the config in error messages.

    Raises
    ------
    ConfigError
        If a field means that the checkpoint has weights that the class lacks.
    CatalogueError
        If the file of the class is damaged.

    """
    if (kept := find_class(class_name(config))) is None:
        return None
    given = fields_of(config)
    check_fields(path, kept.name, given, kept.arguments)
    structure = structure_of(kept, given)
    return None if structure is None else record_of(kept, structure, given)


def structure_of(kept: DiffusersClass, given: Mapping[str, Any]) -> Structure | None:
    """Return the first structure of a class that matches the fields of a config, or None."""
    values = _values(kept, given)
    return next((each for each in kept.structures if not any(_differences(kept, each, values))), None)


def refusal_reason(config: Mapping[str, Any]) -> str:
    """Return why the catalogue has no formula for a config: the first difference from the nearest structure."""
    name = class_name(config)
    if (kept := find_class(name)) is None:
        return f"the catalogue does not have the diffusers class {quoted(name)}"
    values = _values(kept, fields_of(config))
    nearest = min(([*_differences(kept, each, values)] for each in kept.structures), key=len)
    return nearest[0] if nearest else ""


def class_name(config: Mapping[str, Any]) -> str:
    """Return the class that a diffusers config names."""
    named = config.get("architectures") or [config.get(CLASS)]
    return str(named[0])


def fields_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of the class: all fields except the class name and private ones."""
    return {name: value for name, value in config.items() if name[0] != "_" and name != "architectures"}


def check_fields(path: str, name: str, given: Mapping[str, Any], arguments: Collection[str]) -> None:
    """Raise ConfigError for an unread field that means that the checkpoint has weights that the class lacks."""
    for field, value in given.items():
        if field not in arguments and adds_weights(field, value, arguments):
            raise ConfigError(f"{path} has {quoted(field)[1:-1]}={str(value)[:80]}, which {name} does not read")


def unread_fields(name: str, given: Mapping[str, Any], arguments: Collection[str]) -> list[str]:
    """Return a note that lists the fields of a config that its class does not read, if any."""
    unread = [field for field, value in given.items() if field not in arguments and value not in (None, False)]
    return [f"ignored fields that {name} does not read: {', '.join(unread)}"] if unread else []


def stored_buffers(count: int, exact: bool = True) -> list[str]:
    """Return a note on the buffers that a checkpoint stores in addition to the parameters, if any."""
    elements = f"{count:,} buffer elements" if exact else "buffers"
    return [f"a checkpoint also stores {elements}, which are not parameters"] if count else []


def classes() -> list[str]:
    """Return the names of the diffusers classes in the catalogue."""
    return sorted(place.name.removesuffix(".json") for place in FOLDER.iterdir() if place.name.endswith(".json"))


@cache
def find_class(name: str) -> DiffusersClass | None:
    """Return the catalogue's entry of a diffusers class, or None. Raises CatalogueError for a damaged file."""
    place = FOLDER / f"{name}.json"
    if not name.isidentifier() or len(name) > LONGEST or not place.is_file():
        return None
    try:
        return read(json.loads(place.read_text("utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        why = " ".join(str(error).split())[:80]
        raise CatalogueError(
            f"the catalogue's file of {name} is damaged ({type(error).__name__}: {why}); reinstall symformer"
        ) from None


def read(data: Mapping[str, Any]) -> DiffusersClass:
    """Return the entry in the data of a file."""
    structures = tuple(
        Structure(**{**each, "sources": tuple(each["sources"]), "notes": tuple(each["notes"])})
        for each in data["structures"]
    )
    return DiffusersClass(
        name=data["name"],
        defaults=data["defaults"],
        required=tuple(data["required"]),
        structures=structures,
        rows=tuple(data["rows"]),
        formulas=tuple(data["formulas"]),
    )


def row_of(line: str) -> list[Any]:
    """Parse a row of a formula: the path of a weight, its shape, and its numbers of copies.

    >>> row_of("blocks.*.to_q.weight;A*D,E;L")
    [['blocks.*.to_q.weight', ['A*D', 'E']], ['L']]
    """
    path, shape, copies = line.split(";")
    return [[path, shape.split(",") if shape else []], copies.split(",") if copies else []]


def line_of(row: Any) -> str:
    """Return the line that encodes a row. Raises CatalogueError for a row that would not be read back unchanged."""
    (path, shape), copies = row
    line = f"{path};{','.join(shape)};{','.join(copies)}"
    if row_of(line) != row:
        raise CatalogueError(f"the weights {path} cannot be encoded as a line")
    return line


def _values(kept: DiffusersClass, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of every argument that has one."""
    return {**kept.defaults, **{name: value for name, value in given.items() if name in kept.arguments}}


def _differences(kept: DiffusersClass, structure: Structure, values: Mapping[str, Any]) -> Iterator[str]:
    """Yield a message for each difference between a config and a structure."""
    ours = {**kept.defaults, **structure.fields}
    for name in kept.arguments:
        if name in structure.sizes:
            if type(values.get(name)) is not int or values[name] < 1:
                yield f"{name} of {kept.name} should be a positive integer, but is {_shown(values, name)}"
        elif not (name in ours and name in values and equal_values(ours[name], values[name], 0)):
            yield (
                f"the catalogue has {kept.name} with {name}={_shown(ours, name)}, "
                f"but the config has {_shown(values, name)}"
            )
    formula = _formula(kept, structure.formula)
    numbers = {name: values[name] for name in formula.letters if type(values.get(name)) is int}
    if why := violated_condition(formula, numbers):
        yield f"the catalogue's formula of {kept.name} does not apply to this config: {why}"


def _shown(values: Mapping[str, Any], name: str) -> str:
    if name not in values:
        return "no value"
    written = json.dumps(values[name])
    return written if len(written) <= LONGEST_VALUE else f"{written[:LONGEST_VALUE]}…"


def record_of(kept: DiffusersClass, structure: Structure, given: Mapping[str, Any]) -> Record:
    """Return the record of a config that matches a structure, with its sizes and notes."""
    values = _values(kept, given)
    numbers = {name: value for name, value in values.items() if name in given or name in structure.sizes}
    sizes = {name: value for name, value in numbers.items() if type(value) is int and value > 0}
    notes: Sequence[str] = (
        *structure.notes,
        *unread_fields(kept.name, given, kept.arguments),
        *stored_buffers(structure.buffers, all(sizes[name] == size for name, size in structure.sizes.items())),
    )
    return replace(_formula(kept, structure.formula), config=sizes, assumed=tuple(notes), by="catalogue")


@cache
def _formula(kept: DiffusersClass, number: int) -> Record:
    """Return the record of a formula. Raises CatalogueError if it is damaged."""
    try:
        data = kept.formulas[number]
        counts = [row_of(kept.rows[row]) for row in data["traced"]["counts"]]
        letters = letters_of_fields(data["letters"])
        names = other_names(letters, data["letters"])
        found = relettered({**data, "traced": {**data["traced"], "counts": counts}}, letters, names)
        _ = found.counted
    except (KeyError, IndexError, TypeError, AttributeError, SymformerError) as error:
        raise CatalogueError(f"the catalogue's formula of {kept.name} is damaged ({error})") from None
    return found
