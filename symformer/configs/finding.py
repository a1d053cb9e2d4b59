"""Which architecture reads a config: found by its model type, with no import of the architectures that do not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..language.errors import ConfigError, UnreadError, listed
from ..language.sizes import shown

# Every model type of transformers 5.23: a class of one of them is not read as the class of another.
TYPES = Path(__file__).parent / "model_types.txt"


def reader(
    path: str,
    config: Mapping[str, Any],
    files: Mapping[str, Path],
    types: Callable[[str], tuple[str, ...]],
    classes: Callable[[str], Iterable[str]],
) -> tuple[str, str]:
    """The name of the architecture that reads a config, of those that have a file here; and what that rests on, where
    it is the config's class because nothing here has its model type. Raises ConfigError, UnreadError.

    ``types`` says which model types an architecture reads, ``classes`` which torch classes; both import it.
    """
    model_type = config.get("model_type")
    if isinstance(model_type, str):
        for name in _likely(model_type, files):
            if model_type in types(name):
                return name, ""
        match config.get("architectures"):
            case [str(named)] if model_type not in TYPES.read_text("utf-8").split():
                if found := next((name for name in files if named in classes(name)), ""):
                    return found, f"model_type {shown(model_type)} is not known here, and the class {named} decides"
    match config:
        case {"_class_name": str(), "architectures": [str(named)]} if model_type is None:
            if found := next((name for name in files if named in classes(name)), ""):
                return found, ""
            raise UnreadError(f"{path} names the diffusers class {named}, which no built-in architecture supports")
    if model_type is None:
        known = sorted(each for name in files for each in types(name))
        raise ConfigError(f"{path} has no 'model_type', which says whose sizes these are; known: {listed(known)}")
    raise UnreadError(f"{path}: 'model_type' is {shown(model_type)}, which no architecture here reads")


def _likely(model_type: str, files: Mapping[str, Path]) -> Iterator[str]:
    """The architecture that is called so, and those whose code names the type: no other reads it."""
    called = model_type.replace("_", "-")
    if called in files:
        yield called
    naming = {name for name, file in files.items() if f'"{model_type}"' in file.read_text("utf-8")} - {called}
    yield from sorted(naming)
