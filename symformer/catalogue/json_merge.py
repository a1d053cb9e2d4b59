"""Combine several changes to the same JSON facts.

A change is a full copy of the facts with only that change applied. If two changes affect the same row, their
combination is not known, which is an error.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from typing import Any

from ..language.arithmetic import parse
from ..language.errors import CatalogueError

ROWS = ("rows", "counts")  # lists of weights or operations, which can contain equal rows
NOTHING = object()


def merge(usual: Any, others: Sequence[Any], name: str = "") -> Any:
    """Return facts with several changes applied. Raises CatalogueError if two of them conflict.

    >>> merge({"V": 1, "tied": False}, [{"V": 1, "tied": True}, {"V": 1, "tied": False, "bias": True}])
    {'V': 1, 'tied': True, 'bias': True}
    """
    changed = [other for other in others if other != usual]
    if not changed:
        return usual
    if len(changed) == 1:
        return changed[0]
    if all(isinstance(each, dict) for each in (usual, *changed)):
        names = dict.fromkeys(word for each in (usual, *changed) for word in each)
        found = {
            word: merge(usual.get(word, NOTHING), [each.get(word, NOTHING) for each in changed], word) for word in names
        }
        return {word: value for word, value in found.items() if value is not NOTHING}
    if all(isinstance(each, list) for each in (usual, *changed)):
        return _list(usual, changed, name)
    if all(type(each) is int for each in changed):
        return min(changed)  # numbers of points and builds: the combination has at least the smallest
    if all(each == changed[0] for each in changed):
        return changed[0]
    raise CatalogueError(f"two changes of {name or 'the same facts'} conflict")


def _list(usual: list[Any], others: Sequence[list[Any]], name: str) -> list[Any]:
    """Return a list without the items that any change removes, and with the items that each inserts, in place."""
    base = [*map(_said, usual)]
    gone: Counter[int] = Counter()
    put: dict[int, list[Any]] = defaultdict(list)
    paths: Counter[str] = Counter()
    for other in others:
        steps = SequenceMatcher(None, base, [*map(_said, other)], autojunk=False).get_opcodes()
        new = []
        for what, start, end, first, last in steps:
            if what != "equal":
                gone.update(range(start, end))
                put[start] += [each for each in other[first:last] if name in ROWS or each not in put[start]]
                new += other[first:last]
        if name in ROWS:
            paths.update({_path(row) for row in new})
    if name in ROWS and any(times > 1 for times in (*gone.values(), *paths.values())):
        raise CatalogueError(f"two changes of the {name} conflict")
    found = []
    for place in range(len(usual) + 1):
        found += put[place]
        if place < len(usual) and not gone[place]:
            found.append(usual[place])
    return found


def _said(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _path(row: Any) -> str:
    """Return the path of a row, which is an operation after its copies, or a path and a shape before their copies."""
    first, second = row
    return str(second["path"] if isinstance(second, dict) else first[0])


def without_sizes(data: Any, sizes: Sequence[str]) -> Any:
    """Return the facts of a record with some sizes set to 0. Rows with 0 copies are removed."""
    letters = {letter for name, letter in data["letters"].items() if name in sizes}
    words = re.compile(rf"\b({'|'.join(map(re.escape, sorted(letters)))})\b")

    def kept(value: Any, name: str = "") -> Any:
        if name in ROWS:
            rows = [_at_zero(row, words) for row in value]
            return [row for row in rows if row is not None]
        if name == "conditions":
            return [each for each in value if not words.search(json.dumps(each))]
        if isinstance(value, dict):
            return {word: kept(each, word) for word, each in value.items()}
        return value

    found = kept({name: each for name, each in data.items() if name not in ("letters", "places")})
    names = {name: letter for name, letter in data["letters"].items() if name not in sizes}
    places = {letter: each for letter, each in data.get("places", {}).items() if letter not in letters}
    return {**found, "letters": names, "places": places}


def _at_zero(row: list[Any], words: re.Pattern[str]) -> list[Any] | None:
    """Return a row with some sizes set to 0, or None if it has no copies left.

    A row is an operation after its copies, or a shape before them. Raises CatalogueError if such a size occurs
    elsewhere in the row.
    """
    place = 0 if isinstance(row[1], dict) else 1
    copies = [str(parse(words.sub("0", each), any_name=True)) if words.search(each) else each for each in row[place]]
    if "0" in copies:
        return None
    other = row[1 - place]
    if words.search(json.dumps(other)):
        raise CatalogueError("a layer kind that the config does not have affects other rows")
    return [copies, other] if place == 0 else [other, copies]


def compress_rows(other: Any, usual: Any) -> Any:
    """Return facts with every row that the default facts have replaced by its index there."""
    return _with_rows(other, usual, _numbered)


def expand_rows(other: Any, usual: Any) -> Any:
    """Return the facts that ``compress_rows`` abbreviated. Raises CatalogueError for an index out of range."""
    return _with_rows(other, usual, _rows)


def _with_rows(other: Any, usual: Any, written: Callable[[list[Any], list[Any]], list[Any]]) -> Any:
    """Return facts with each list of rows converted, given the rows of the default facts."""
    if not isinstance(other, dict) or not isinstance(usual, dict):
        return other
    found = {}
    for name, value in other.items():
        rows = name in ROWS and name in usual
        found[name] = written(value, usual[name]) if rows else _with_rows(value, usual.get(name), written)
    return found


def _numbered(rows: list[Any], usual: list[Any]) -> list[Any]:
    places: dict[str, list[int]] = defaultdict(list)
    for place, row in enumerate(usual):
        places[_said(row)].append(place)
    return [places[said].pop(0) if places[said := _said(row)] else row for row in rows]


def _rows(rows: list[Any], usual: list[Any]) -> list[Any]:
    if odd := next((row for row in rows if type(row) is int and not 0 <= row < len(usual)), None):
        raise CatalogueError(f"the default facts have no row {odd}")
    return [usual[row] if type(row) is int else row for row in rows]
