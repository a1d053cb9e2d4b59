"""Which architecture reads a config: found by its model type, with no import of the architectures that do not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..language.errors import ConfigError, listed
from ..language.sizes import shown


def reader(
    path: str, config: Mapping[str, Any], files: Mapping[str, Path], types: Callable[[str], tuple[str, ...]]
) -> str:
    """The name of the architecture that reads a config, of those that have a file here. Raises ConfigError.

    ``types`` says which model types an architecture reads, and imports it.
    """
    model_type = config.get("model_type")
    if isinstance(model_type, str):
        for name in _likely(model_type, files):
            if model_type in types(name):
                return name
    known = sorted(each for name in files for each in types(name))
    if model_type is None:
        raise ConfigError(f"{path} has no 'model_type', which says whose sizes these are; known: {listed(known)}")
    raise ConfigError(
        f"{path}: 'model_type' is {shown(model_type)}, which no architecture here reads; known: {listed(known)}; "
        "symformer trace reads the others off their torch code"
    )


def _likely(model_type: str, files: Mapping[str, Path]) -> Iterator[str]:
    """Every architecture, from the likeliest: the one that is called so, those whose code names the type, the rest."""
    called = model_type.replace("_", "-")
    if called in files:
        yield called
    naming = {name for name, file in files.items() if f'"{model_type}"' in file.read_text("utf-8")} - {called}
    yield from sorted(naming)
    yield from sorted(files.keys() - naming - {called})
