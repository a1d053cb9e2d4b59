"""Writing of the catalogue: one file per class, and an index of model types."""

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

from ..catalogue.disk_cache import versions
from ..catalogue.entries import COMMON, LIVE, TYPES, CensusEntry
from ..language.errors import CatalogueError, SymformerError, UnknownNameError
from ..language.target import HF
from .entry_builder import EntryBuilder
from .error_messages import sentence
from .fields_read import common_names
from .trace_result import UnbuiltError
from .transformers_classes import first_heads, of_head, types
from .worker_pool import LostJob, run_jobs

LIMIT = 1800  # seconds per class


@dataclass(frozen=True)
class WriteResult:
    """The result of writing one class."""

    filed: CensusEntry
    common: set[str] = field(default_factory=set)  # names that the library's common code may read from its config
    left: dict[str, str] = field(default_factory=dict)  # the omitted parts, and why


def pairs(heads: Sequence[str], only: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Return every model type with these heads, or with its preferred head if none are given; or those in ``only``.

    Raises UnknownNameError.
    """
    found = [(name, head) for head in heads for name in types(head)] if heads else first_heads()
    for name in only:
        if not any(name == model_type for model_type, _ in found):
            asked = f"{' or '.join(heads)} model type".strip()
            raise UnknownNameError(asked, name, [model_type for model_type, _ in found])
    return [pair for pair in found if pair[0] in only or not only]


def write_catalogue(
    jobs: Sequence[tuple[str, str]],
    folder: Path,
    workers: int,
    limit: float,
    tell: Callable[[int], None] = lambda done: None,
    again: bool = False,
) -> Iterator[tuple[str, WriteResult]]:
    """Write a file for every class into a folder, and yield each result once it is written.

    Parameters
    ----------
    jobs
        Pairs of a model type and a head. Classes that already have a file are skipped.
    folder
        The folder of the catalogue.
    workers
        The number of processes.
    limit
        Seconds for each class.
    tell
        A function that receives the number of finished classes.
    again
        Test the fields of classes that already have a file again, and keep their formulas.

    """
    first = first_heads()
    with closing(run_jobs(partial(_shelve, folder=str(folder), again=again), jobs, workers, limit)) as answers:
        for done, ((model_type, head), answer) in enumerate(answers, 1):
            written = WriteResult(CensusEntry(head=head, why=answer.why)) if isinstance(answer, LostJob) else answer
            if (model_type, head) in first:
                filed = {name: value for name, value in asdict(written.filed).items() if value not in ("", True)}
                known = _read(folder / TYPES, {}) | {model_type: filed}
                _write(folder / TYPES, dict(sorted(known.items())))
            heard = {*_read(folder / COMMON, [])}
            _write(folder / COMMON, sorted({*heard, *written.common}))
            if more := written.common - heard:  # names that were never tested
                _write(folder / LIVE, sorted({*_read(folder / LIVE, []), *more}))
            tell(done)
            yield model_type, written


def check(folder: Path) -> None:
    """Raise CatalogueError if a folder has files with the names of a catalogue's index that a census did not write."""
    try:
        ours = all(isinstance(each["head"], str) for each in _read(folder / TYPES, {}).values())
        ours = ours and all(isinstance(each, str) for each in _read(folder / COMMON, []))
    except (ValueError, KeyError, TypeError, AttributeError):
        ours = False
    if not ours:
        raise CatalogueError(f"{folder} has a {TYPES} or a {COMMON} that no census wrote; choose another folder")


def _read(place: Path, nothing: Any) -> Any:
    return json.loads(place.read_text("utf-8")) if place.is_file() else nothing


def _write(place: Path, data: Any) -> None:
    """Write a file atomically."""
    partial = place.with_suffix(".partial")
    partial.write_text(json.dumps(data, separators=(",", ":")) + "\n", "utf-8")
    os.replace(partial, place)


def _shelve(model_type: str, head: str, folder: str, again: bool) -> WriteResult:
    """Write the file of one class."""
    torch.set_num_threads(1)
    name, left = "", {}
    try:
        source = of_head(model_type, head)
        name, place = source.name, Path(folder, f"{source.name}.{model_type}.json")
        if _here(place) and again:
            _write(place, EntryBuilder(source, f"{HF}{model_type}").again(_read(place, _NONE)))
        elif not _here(place):
            shelving = EntryBuilder(source, f"{HF}{model_type}")
            left = shelving.left
            _write(place, shelving.kept())
        return WriteResult(CensusEntry(name=name, head=head), common_names(source), left)
    except Exception as error:  # any error of the traced code
        why = str(error) if isinstance(error, SymformerError) else sentence(error)
        filed = CensusEntry(name=name, head=head, why=why, builds=not isinstance(error, UnbuiltError))
        return WriteResult(filed, left=left)


def _here(place: Path) -> bool:
    """Return True if a class has a file for the installed library versions. Raises CatalogueError for another file."""
    try:
        return bool(_read(place, _NONE)["config"]["versions"] == versions())
    except (ValueError, KeyError, TypeError):
        raise CatalogueError(f"{place} already exists, but no census wrote it; choose another folder") from None


_NONE: Any = {"config": {"versions": {}}}
