"""Quantities: one per file, each with a table of rules over the kinds of operation."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import cast

from ..language.errors import OptionError, RegistrationError, UnknownNameError
from ..language.plugins import Plugins
from ..language.sizes import format_value
from .quantity import Quantity
from .spellings import QUANTITIES

plugins = Plugins("quantities", Quantity)


def quantities() -> dict[str, Quantity]:
    """Return all quantities by name: the built-in ones, and those that other packages register."""
    return {**_own(), **{name: quantity(name) for name in plugins.names() if name not in _own()}}


@cache
def _own() -> dict[str, Quantity]:
    """Return the built-in quantities: one for each file of this folder that defines ``QUANTITY``."""
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
        The name, such as "train-flops", or another spelling of it, such as "training_flops".

    Raises
    ------
    UnknownNameError
        If no quantity has this name.
    RegistrationError
        If another package registers the name and its quantity cannot be used.

    """
    if not isinstance(name, str):
        raise OptionError(f"{format_value(name)} is not the name of a quantity; give one such as 'flops'")
    if (own := _file(canonical(name))) is not None:
        return own
    found: Quantity | None = plugins.load(name)
    if found is None:
        raise UnknownNameError("quantity", name, quantities())
    if found.measure.name != name:
        raise RegistrationError(f"the quantity {name} has the name {found.measure.name} in its measure; name it {name}")
    return found


def is_quantity(name: str) -> bool:
    """Return whether a quantity has this name."""
    return _file(canonical(name)) is not None or name in plugins.names()


def canonical(name: str) -> str:
    """Return the name of a built-in quantity from another spelling of it; any other name unchanged.

    >>> canonical("memory_traffic"), canonical("parms")
    ('traffic', 'parms')
    """
    spelt = name.replace("_", "-")
    found = QUANTITIES.get(spelt, spelt)
    return found if _file(found) is not None else name


def _file(name: str) -> Quantity | None:
    """Return a built-in quantity, or None."""
    word = name.replace("-", "_")
    if not word.isidentifier() or not find_spec(f"{__name__}.{word}"):
        return None
    found = getattr(import_module(f"{__name__}.{word}"), "QUANTITY", None)
    return cast(Quantity, found) if found is not None and found.measure.name == name else None
