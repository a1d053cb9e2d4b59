"""Components: one part a file. The file's name with hyphens is the part's name: ``component:gated-mlp``."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from inspect import isabstract
from pkgutil import iter_modules
from typing import Any, TypeVar

from ..errors import SymformerError, UnknownNameError
from .base import Component

T = TypeVar("T")


def names() -> list[str]:
    """Every component's name."""
    return sorted(module.name.replace("_", "-") for module in iter_modules(__path__) if module.name != "base")


@cache
def component_class(name: str) -> type[Component]:
    """The class a name stands for. Raises UnknownNameError."""
    if name not in names():
        raise UnknownNameError("component", name, names())
    return defined_in(f"{__name__}.{name.replace('-', '_')}", Component)  # type: ignore[type-abstract]


def component(name: str, **options: Any) -> Component:
    """A component with its usual sizes; options are its fields of type bool or Literal.

    >>> component("mlp", bias=False).params
    2*E*H
    """
    found = component_class(name)
    return found(**found.options_from(options))


def defined_in(module: str, base: type[T]) -> type[T]:
    """The one concrete subclass that a module defines."""
    loaded = import_module(module)
    found = [
        item
        for item in vars(loaded).values()
        if isinstance(item, type) and issubclass(item, base) and item.__module__ == module and not isabstract(item)
    ]
    if len(found) != 1:
        raise SymformerError(f"{module} should define one {base.__name__}; it defines {len(found)}")
    return found[0]
