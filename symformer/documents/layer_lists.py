"""Modules of layers of one kind, by their paths in the class.

A ledger has a list of its own for each kind of layers, such as ``linear_layers`` and ``attention_layers``. In the class
they are one list, such as ``layers``, so documents print its path and state the kind in words.
"""

from __future__ import annotations

from collections.abc import Iterable

from sympy import Symbol

from ..formulas.account import Line as AccountLine
from ..formulas.formula import Formula
from ..language.symbols import letter
from ..output.blocks import Code, Line, Math, listed


def class_path(path: str, formula: Formula) -> str:
    """Return the path of a module in the class.

    Parameters
    ----------
    path
        The path of the module in the ledger.
    formula
        The formula with the kinds of layers.

    Examples
    --------
    >>> import symformer as sf
    >>> class_path("attention_layers.*.self_attn", sf.model("lfm2").params)
    'layers.*.self_attn'

    """
    kind = _kind(path, formula)
    return path if kind is None else f"{kind.listed}{path.removeprefix(kind.path)}"


def in_class(paths: Iterable[str], formula: Formula) -> list[Line]:
    """Return the distinct paths of modules in the class, each with its kinds of layers in words."""
    kinds: dict[str, dict[str, AccountLine]] = {}
    for path in paths:
        found = kinds.setdefault(class_path(path, formula), {})
        if (kind := _kind(path, formula)) is not None:
            found[kind.path] = kind
    return [
        [Code(path), *([" in ", *listed(*map(kind_words, found.values()))] if found else [])]
        for path, found in kinds.items()
    ]


def kind_words(kind: AccountLine) -> Line:
    """Return the layers of one kind in words, such as ``the layers with local attention``."""
    meaning = letter(kind.count).meaning if isinstance(kind.count, Symbol) else ""
    if meaning.startswith("layers "):
        return [f"the {meaning}"]
    among = kind.count if kind.among is None else kind.among
    return [Math.of(kind.count), " of the ", Math.of(among), " layers"]


def _kind(path: str, formula: Formula) -> AccountLine | None:
    """Return the layers of one kind that contain a module, or None."""
    lines = (formula.whole_account or formula.root).walk()
    return next((line for line in lines if line.listed and f"{path}.".startswith(f"{line.path}.")), None)
