"""Objects of other packages, registered as entry points: architectures, components, quantities and rule sets.

The name of such an object is the name of its package, a hyphen and the name of the entry point: the entry point
``tiny = "acme.models:Tiny"`` is ``acme-tiny``. Packages are searched only for names that are not built in, and for
lists.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from .errors import RegistrationError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

PREFIX = "symformer."  # of the groups: symformer.architectures


class Plugins:
    """The objects that other packages register in one group."""

    def __init__(self, group: str, base: type) -> None:
        self.group, self.base = PREFIX + group, base

    def names(self) -> list[str]:
        """Return the names of all registered objects, without importing them."""
        return sorted(_found(self.group, tuple(sys.path)))

    def load(self, name: str) -> Any:
        """Return the object with a name, or None if no package registers one. Raises RegistrationError."""
        point = _found(self.group, tuple(sys.path)).get(name)
        return None if point is None else _loaded(point, name, self.base)

    def name_of(self, built: type) -> str:
        """Return the name under which a class is registered; "" if it is not. Nothing is imported."""
        return _names(self.group, tuple(sys.path)).get((built.__module__, built.__qualname__), "")


def named(point: EntryPoint) -> str:
    """Return the name of an entry point with the name of its package.

    >>> from importlib.metadata import EntryPoint
    >>> named(EntryPoint("tiny", "acme_models.tiny:Tiny", "symformer.architectures"))
    'acme-models-tiny'
    """
    return f"{point.module.partition('.')[0]}-{point.name}".replace("_", "-").lower()


@cache
def _found(group: str, path: tuple[str, ...]) -> Mapping[str, EntryPoint]:
    """Return the entry points of a group by name. Raises RegistrationError for a name that two packages register."""
    from importlib.metadata import entry_points  # takes longer to import than all that a built-in name needs

    found: dict[str, EntryPoint] = {}
    for point in entry_points(group=group):
        name = named(point)
        if name in found and found[name].value != point.value:
            raise RegistrationError(
                f"{name} is registered twice in {group}, as {found[name].value} and as {point.value}; rename one"
            )
        found[name] = point
    return found


@cache
def _names(group: str, path: tuple[str, ...]) -> Mapping[tuple[str, str], str]:
    return {(point.module, point.attr): name for name, point in _found(group, path).items()}


@cache
def _loaded(point: EntryPoint, name: str, base: type) -> Any:
    """Return the object of an entry point. Raises RegistrationError if it cannot be imported or has another type."""
    try:
        found = point.load()
    except Exception as error:  # any error of the imported package
        why = " ".join(str(error).split())[:160]
        raise RegistrationError(f"{name} ({point.value}) cannot be imported: {type(error).__name__}: {why}") from None
    kind = found if isinstance(found, type) else type(found)
    if not issubclass(kind, base):
        raise RegistrationError(f"{name} ({point.value}) is a {kind.__name__}; it must be a {base.__name__}")
    return found
