"""The notation of papers: the meaning of their letters in our alphabet, from letters.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from ..language.errors import UnknownNameError


@cache
def _tables() -> dict[str, dict[str, str]]:
    loaded: dict[str, dict[str, str]] = json.loads((files(__package__) / "letters.json").read_text("utf-8"))
    return loaded


def papers() -> list[str]:
    """Return the keys of the papers that have a table of letters."""
    return list(_tables())


def letters_of(paper: str) -> Mapping[str, str]:
    """Return the notation of a paper: for each letter, our size.

    A value is an expression over the alphabet. If several are separated by a bar, the first one that a target has
    applies. The value ``parameters: matrices`` is the number of parameters; the word after the colon names those that
    the paper counts. Raises UnknownNameError for a paper without a table.

    >>> letters_of("narayanan2021")["h"]
    'E'
    """
    if paper not in _tables():
        raise UnknownNameError("paper", paper, _tables())
    return _tables()[paper]
