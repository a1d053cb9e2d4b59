"""The catalogue written: a file for every class, one after another, and what every model type is read as."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch

from ..catalogue.shelf import COMMON, LIVE, TYPES, Filed
from ..catalogue.store import versions
from ..language.errors import CatalogueError, SymformerError, UnknownNameError
from ..language.target import HF
from .asking import common
from .classes import first_heads, of_head, types
from .crew import Lost, crew
from .raised import sentence
from .results import UnbuiltError
from .shelving import Shelving

LIMIT = 1800  # seconds for a class


@dataclass(frozen=True)
class Written:
    """What came of one class."""

    filed: Filed
    common: set[str] = field(default_factory=set)  # the names that the library's own code may ask its config for
    left: dict[str, str] = field(default_factory=dict)  # what of it was left out, and why


def pairs(heads: Sequence[str], only: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Every model type with a head, its first where none is asked for; or those named. Raises UnknownNameError."""
    found = [(name, head) for head in heads for name in types(head)] if heads else first_heads()
    for name in only:
        if not any(name == model_type for model_type, _ in found):
            asked = f"{' or '.join(heads)} model type".strip()
            raise UnknownNameError(asked, name, [model_type for model_type, _ in found])
    return [pair for pair in found if pair[0] in only or not only]


def fill(
    jobs: Sequence[tuple[str, str]],
    folder: Path,
    workers: int,
    limit: float,
    tell: Callable[[int], None] = lambda done: None,
    again: bool = False,
) -> Iterator[tuple[str, Written]]:
    """Write a file for every class, a model type with a head, into a folder; a class that is there stays.

    With ``again`` what its fields change is tried again for a class that is there, and its formulas stay.

    Gives what came of each as it comes, when all that is known of it is written.
    """
    first = first_heads()
    with closing(crew(partial(_shelve, folder=str(folder), again=again), jobs, workers, limit)) as answers:
        for done, ((model_type, head), answer) in enumerate(answers, 1):
            written = Written(Filed(head=head, why=answer.why)) if isinstance(answer, Lost) else answer
            if (model_type, head) in first:
                filed = {name: value for name, value in asdict(written.filed).items() if value not in ("", True)}
                known = _read(folder / TYPES, {}) | {model_type: filed}
                _write(folder / TYPES, dict(sorted(known.items())))
            heard = {*_read(folder / COMMON, [])}
            _write(folder / COMMON, sorted({*heard, *written.common}))
            if more := written.common - heard:  # which nobody has tried
                _write(folder / LIVE, sorted({*_read(folder / LIVE, []), *more}))
            tell(done)
            yield model_type, written


def check(folder: Path) -> None:
    """Raise CatalogueError where files in a folder have the names of a catalogue's and are none of its."""
    try:
        ours = all(isinstance(each["head"], str) for each in _read(folder / TYPES, {}).values())
        ours = ours and all(isinstance(each, str) for each in _read(folder / COMMON, []))
    except (ValueError, KeyError, TypeError, AttributeError):
        ours = False
    if not ours:
        raise CatalogueError(f"{folder} has a {TYPES} or a {COMMON} that no census wrote; name another folder")


def _read(place: Path, nothing: Any) -> Any:
    return json.loads(place.read_text("utf-8")) if place.is_file() else nothing


def _write(place: Path, data: Any) -> None:
    """Whole or not at all."""
    partial = place.with_suffix(".partial")
    partial.write_text(json.dumps(data, separators=(",", ":")) + "\n", "utf-8")
    os.replace(partial, place)


def _shelve(model_type: str, head: str, folder: str, again: bool) -> Written:
    """One class."""
    torch.set_num_threads(1)
    name, left = "", {}
    try:
        source = of_head(model_type, head)
        name, place = source.name, Path(folder, f"{source.name}.{model_type}.json")
        if _here(place) and again:
            _write(place, Shelving(source, f"{HF}{model_type}").again(_read(place, _NONE)))
        elif not _here(place):
            shelving = Shelving(source, f"{HF}{model_type}")
            left = shelving.left
            _write(place, shelving.kept())
        return Written(Filed(name=name, head=head), common(source), left)
    except Exception as error:  # whatever somebody's code raises
        why = str(error) if isinstance(error, SymformerError) else sentence(error)
        filed = Filed(name=name, head=head, why=why, builds=not isinstance(error, UnbuiltError))
        return Written(filed, left=left)


def _here(place: Path) -> bool:
    """Whether a class is on file as these versions of the libraries have it. Raises CatalogueError for another file."""
    try:
        return bool(_read(place, _NONE)["entry"]["versions"] == versions())
    except (ValueError, KeyError, TypeError):
        raise CatalogueError(f"{place} is there, and no census wrote it") from None


_NONE: Any = {"entry": {"versions": {}}}
