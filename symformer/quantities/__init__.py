"""Quantities: one question a file, its rules as a table over the kinds of operation."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import cast

from ..language.errors import UnknownNameError
from .quantity import Quantity


@cache
def quantities() -> dict[str, Quantity]:
    """Every quantity by its name: each file of this folder that defines ``QUANTITY``."""
    found: dict[str, Quantity] = {}
    for module in iter_modules(__path__):
        quantity = getattr(import_module(f"{__name__}.{module.name}"), "QUANTITY", None)
        if quantity is not None:
            found[quantity.measure.name] = quantity
    return found


def quantity(name: str) -> Quantity:
    """The quantity of that name, whose file is called so: the others are not imported. Raises UnknownNameError."""
    word = name.replace("-", "_")
    if word.isidentifier() and find_spec(f"{__name__}.{word}"):
        found = getattr(import_module(f"{__name__}.{word}"), "QUANTITY", None)
        if found is not None and found.measure.name == name:
            return cast(Quantity, found)
    raise UnknownNameError("quantity", name, quantities())
