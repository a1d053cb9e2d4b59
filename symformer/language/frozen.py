"""Immutable containers for the fields of public values."""

from __future__ import annotations

import operator
from dataclasses import fields
from functools import cache
from typing import Any, Generic, NoReturn, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class FrozenDict(dict[K, V], Generic[K, V]):
    """An immutable dict. It is hashable if its values are. ``copy``, ``|`` and ``pickle`` work.

    >>> sizes = FrozenDict(E=768)
    >>> {**sizes, "L": 12}
    {'E': 768, 'L': 12}
    >>> sizes["E"] = 1
    Traceback (most recent call last):
    ...
    TypeError: this mapping is part of an immutable value; change a copy of it, such as dict(...)
    """

    __slots__ = ()

    def _refuse(self, *given: object, **named: object) -> NoReturn:
        raise TypeError("this mapping is part of an immutable value; change a copy of it, such as dict(...)")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[type[FrozenDict[K, V]], tuple[dict[K, V]]]:
        return type(self), (dict(self),)


class FrozenList(list[V], Generic[V]):
    """An immutable list. A slice of it is an ordinary list."""

    __slots__ = ()

    def _refuse(self, *given: object, **named: object) -> NoReturn:
        raise TypeError("this list is part of an immutable value; change a copy of it, such as list(...)")

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __reduce__(self) -> tuple[type[FrozenList[V]], tuple[list[V]]]:
        return type(self), (list(self),)


_IMMUTABLE = frozenset((str, int, float, bool, type(None), frozenset, FrozenDict, FrozenList))


def freeze(value: Any) -> Any:
    """Return a value with immutable dicts, lists and sets at every depth; the same object if it has no mutable ones.

    >>> freeze({"sizes": [768, {12}]})
    {'sizes': (768, frozenset({12}))}
    """
    kind = type(value)
    if kind in _IMMUTABLE:
        return value
    if kind is tuple or kind is list:
        found = [freeze(each) for each in value]
        same = kind is tuple and all(map(operator.is_, found, value))
        return value if same else tuple(found)
    if isinstance(value, dict) and not hasattr(
        value, "__missing__"
    ):  # Counter and defaultdict return values for missing keys
        return FrozenDict({name: freeze(each) for name, each in value.items()})
    if isinstance(value, set):
        return frozenset(value)
    return value


class Immutable:
    """Base class of public frozen dataclasses, which also freezes the values of their fields."""

    def __post_init__(self) -> None:
        """Freeze every field."""
        for name in _field_names(type(self)):  # type: ignore[arg-type]
            given = getattr(self, name)
            if (frozen := freeze(given)) is not given:
                object.__setattr__(self, name, frozen)


@cache
def _field_names(kind: Any) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind))
