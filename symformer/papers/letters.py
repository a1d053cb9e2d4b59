"""What the letters of papers stand for in the alphabet, paper by paper, from letters.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ..language.errors import UnknownNameError


@cache
def _tables() -> dict[str, dict[str, str]]:
    loaded: dict[str, dict[str, str]] = json.loads((Path(__file__).parent / "letters.json").read_text("utf-8"))
    return loaded


def papers() -> list[str]:
    """The papers that have a table of letters, by their keys."""
    return list(_tables())


def letters_of(paper: str) -> Mapping[str, str]:
    """Return the notation of a paper: for each letter, our size.

    A value is an expression over the alphabet; of several separated by a bar, the first that a target has. The value
    ``parameters: matrices`` is the number of parameters, with a key for those that the paper counts. Raises
    UnknownNameError.

    >>> letters_of("narayanan2021")["h"]
    'E'
    """
    if paper not in _tables():
        raise UnknownNameError("paper with a table of letters", paper, _tables())
    return _tables()[paper]
