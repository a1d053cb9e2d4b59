"""The sizes as SymPy symbols: ``from symformer.symbols import E, L``.

A size has the same name in Python, SymPy, the command line and JSON. ``dir(symformer.symbols)`` lists all of them.

Examples
--------
>>> from symformer.symbols import E, L
>>> 12*L*E**2
12*E**2*L
>>> letter(E).meaning
'hidden size'

"""

from __future__ import annotations

from typing import Any

from .language.symbols import LETTERS, SYMBOLS, letter, symbol

__all__ = [*LETTERS, "letter", "symbol"]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name in LETTERS:
        return SYMBOLS[name]
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .language.errors import UnknownNameError

    try:
        return symbol(name)  # an error that suggests the right name
    except UnknownNameError as error:
        raise AttributeError(str(error)) from None


def __dir__() -> list[str]:
    return list(__all__)
