"""Components: one part a file. The file's name with hyphens is the part's name: ``component:gated-mlp``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..language.registry import Registry
from .base import Component

registry: Registry[Component] = Registry(__name__, str(Path(__file__).parent), Component)  # type: ignore[type-abstract]


def names() -> list[str]:
    """Every component's name."""
    return registry.names


def component_class(name: str) -> type[Component]:
    """The class a name stands for. Raises UnknownNameError."""
    return registry.load(name)


def component(name: str, /, **options: Any) -> Component:
    """A component with its usual sizes; options are its fields of type bool or Literal.

    >>> component("mlp", bias=False).params
    2*E*H
    """
    found = component_class(name)
    return found(**found.options_from(options))
