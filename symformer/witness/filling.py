"""The catalogue written: a file for every class, one after another, and what is known of all of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

import torch

from ..catalogue.shelf import COMMON, TYPES
from ..language.errors import SymformerError
from ..language.target import HF
from .asking import common
from .classes import of_head
from .crew import Lost, crew
from .raised import sentence
from .shelving import Shelving

LIMIT = 1800  # seconds for a class


def fill(
    jobs: Sequence[tuple[str, str]],
    folder: Path,
    workers: int,
    limit: float,
    tell: Callable[[int], None] = lambda done: None,
) -> dict[str, str]:
    """Write a file for every class into a folder, and say what was left out and why; a class that is there stays."""
    left: dict[str, str] = {}
    with closing(crew(partial(_shelve, folder=str(folder)), jobs, workers, limit)) as answers:
        for done, ((model_type, _), answer) in enumerate(answers, 1):
            left |= {model_type: answer.why} if isinstance(answer, Lost) else answer
            tell(done)
    types: dict[str, str] = {}
    names: set[str] = set()
    for model_type in sorted({model_type for model_type, _ in jobs}):
        with suppress(SymformerError):
            source = of_head(model_type)
            if (folder / f"{source.name}.{model_type}.json").is_file():
                types[model_type] = source.name
                names |= common(source)
    _write(folder / TYPES, _read(folder / TYPES, {}) | types)
    _write(folder / COMMON, sorted({*_read(folder / COMMON, []), *names}))
    return left


def _read(place: Path, nothing: Any) -> Any:
    return json.loads(place.read_text("utf-8")) if place.is_file() else nothing


def _write(place: Path, data: Any) -> None:
    place.write_text(json.dumps(data, separators=(",", ":")) + "\n", "utf-8")


def _shelve(model_type: str, head: str, folder: str) -> dict[str, str]:
    """One class; what of it was left out, and why."""
    torch.set_num_threads(1)
    left: dict[str, str] = {}
    try:
        source = of_head(model_type, head)
        place = Path(folder, f"{source.name}.{model_type}.json")
        if place.exists():
            return {}
        shelving = Shelving(source, f"{HF}{model_type}")
        left = shelving.left
        kept = shelving.kept()
    except Exception as error:  # whatever somebody's code raises
        return {**left, model_type: sentence(error)}
    _write(place, kept)
    return left
