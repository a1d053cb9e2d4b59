"""Quantities: one per file, each with a table of rules over the kinds of operation."""

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
    """Return all quantities by name: one for each file of this folder that defines ``QUANTITY``."""
    found: dict[str, Quantity] = {}
    for module in iter_modules(__path__):
        quantity = getattr(import_module(f"{__name__}.{module.name}"), "QUANTITY", None)
        if quantity is not None:
            found[quantity.measure.name] = quantity
    return found


def quantity(name: str) -> Quantity:
    """Return one quantity by name, importing only its own file.

    Parameters
    ----------
    name : str
        The name, such as "train-flops".

    Raises
    ------
    UnknownNameError
        If no quantity has this name.

    """
    word = name.replace("-", "_")
    if word.isidentifier() and find_spec(f"{__name__}.{word}"):
        found = getattr(import_module(f"{__name__}.{word}"), "QUANTITY", None)
        if found is not None and found.measure.name == name:
            return cast(Quantity, found)
    raise UnknownNameError("quantity", name, quantities())
