"""Conversion of ledger facts to JSON data and back.

A dataclass becomes an object without its default fields, and an expression becomes plain arithmetic. Reading checks the
types of all fields, and never executes the contents of a file.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from contextlib import suppress
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from sympy import Expr

from ..language.arithmetic import parse
from ..language.errors import CatalogueError, SymformerError
from ..language.notation.text import code
from ..language.sizes import AtMost, Condition, Differs, Divides, Equals, Excludes
from ..models.provenance import traced_only

CONDITIONS = {each.__name__: each for each in (AtMost, Differs, Divides, Equals, Excludes)}
# How files written by earlier versions state that a trace fixed a size, and why.
_FIXED = re.compile(r"the trace fixed it at ([\d,]+)(?:: (.*))?")
_NAME = re.compile(r"[A-Za-z_]\w*")
IS = "is"  # the key that names the class of a condition


def to_data(value: Any) -> Any:
    """Return a value as JSON data. Raises CatalogueError for a value that would not be read back unchanged.

    >>> from symformer.language.symbols import E
    >>> from symformer.ledger.facts import Weight
    >>> to_data(Weight("wte.weight", (E, 4 * E)))
    {'path': 'wte.weight', 'shape': ['E', '4*E']}
    """
    if isinstance(value, Expr):
        with suppress(TypeError):  # the expression has no display form
            written = code(value)
            if _parsed(written) == value:
                return written
        raise CatalogueError(f"{value} is not plain arithmetic, the only form in which a formula can be saved")
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (tuple, list)):
        return [to_data(each) for each in value]
    if isinstance(value, (set, frozenset)):
        return sorted(map(to_data, value))
    if isinstance(value, Mapping):
        if all(isinstance(name, str) for name in value):
            return {name: to_data(each) for name, each in value.items()}
        return [[to_data(name), to_data(each)] for name, each in value.items()]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        said = {IS: type(value).__name__} if isinstance(value, Condition) else {}
        return said | {
            item.name: to_data(given)
            for item in dataclasses.fields(value)
            if (given := getattr(value, item.name)) != _default(item)
        }
    raise CatalogueError(f"a {type(value).__name__} cannot be saved")


def from_data(hint: Any, data: Any, renamed: Mapping[str, str] | None = None) -> Any:
    """Return the value of a type that JSON data represent. Raises CatalogueError for invalid data.

    ``renamed`` has other names for some symbols of its expressions.

    >>> from symformer.ledger.facts import Weight
    >>> from_data(Weight, {"path": "wte.weight", "shape": ["E", "4*E"]}).shape
    (E, 4*E)
    """
    try:
        return _Reader(renamed or {}).read(hint, data)
    except CatalogueError:
        raise
    except (SymformerError, TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
        raise CatalogueError(f"the saved data cannot be read: {error}") from None


class _Reader:
    """A reader of JSON data, with other names for some symbols."""

    def __init__(self, renamed: Mapping[str, str]) -> None:
        self.renamed = renamed

    def read(self, hint: Any, data: Any) -> Any:
        """Return the value of a type."""
        origin, inside = get_origin(hint), get_args(hint)
        if origin in (Union, UnionType):
            others = [each for each in inside if each is not NoneType]
            if data is None and len(others) < len(inside):
                return None
            if all(issubclass(each, Expr) for each in others if isinstance(each, type)) and len(others) > 1:
                found = self.parsed(data)  # such as a size or a number
                if not isinstance(found, tuple(others)):
                    raise _odd(hint, data)
                return found
            (other,) = others
            return self.read(other, data)
        if origin is Literal:
            return _one_of(data, inside)
        if origin is tuple:
            if not isinstance(data, list):
                raise _odd(hint, data)
            if inside[1:] == (...,):
                return tuple(self.read(inside[0], each) for each in data)
            return tuple(self.read(each, one) for each, one in zip(inside, data, strict=True))
        if origin is frozenset:
            return frozenset(self.read(inside[0], each) for each in data)
        if origin is not None and issubclass(origin, Mapping):
            if inside[0] is str:
                return {name: self.read(inside[1], each) for name, each in _object(hint, data).items()}
            return {self.read(inside[0], name): self.read(inside[1], each) for name, each in data}
        if issubclass(hint, Expr):
            found = self.parsed(data)
            if not isinstance(found, hint):
                raise _odd(hint, data)
            return found
        if issubclass(hint, Enum):
            return hint(data)
        if issubclass(hint, Condition):
            return self.made(CONDITIONS[data[IS]], {name: each for name, each in data.items() if name != IS})
        if dataclasses.is_dataclass(hint):
            return self.made(hint, _object(hint, data))
        if type(data) is not hint:
            raise _odd(hint, data)
        return data

    def made(self, cls: Any, data: Mapping[str, Any]) -> Any:
        """Return the object of a dataclass."""
        if cls is Equals and (found := _FIXED.fullmatch(str(data.get("because", "")))):
            data = {**data, "because": traced_only(int(found[1].replace(",", "")), found[2] or "")}
        hints = _hints(cls)
        return cls(**{name: self.read(hints[name], each) for name, each in data.items()})

    def parsed(self, written: str) -> Expr:
        """Return an expression."""
        if self.renamed:
            written = _NAME.sub(lambda found: self.renamed.get(found[0], found[0]), written)
        return _parsed(written)


def _one_of(data: Any, known: tuple[Any, ...]) -> Any:
    if data not in known:
        raise CatalogueError(f"{str(data)[:80]!r} is not one of {', '.join(map(str, known))}")
    return data


def _object(hint: Any, data: Any) -> Mapping[str, Any]:
    if not isinstance(data, dict):
        raise _odd(hint, data)
    return data


def _odd(hint: Any, data: Any) -> CatalogueError:
    return CatalogueError(f"{str(data)[:80]!r} is not a valid {getattr(hint, '__name__', hint)}")


def _default(item: dataclasses.Field[Any]) -> Any:
    if item.default_factory is not dataclasses.MISSING:
        return item.default_factory()
    return item.default


@cache
def _parsed(written: str) -> Expr:
    return parse(written, any_name=True)


@cache
def _hints(cls: type) -> dict[str, Any]:
    return get_type_hints(cls)
