"""Finding the architecture for a config by its model type, without importing the other architectures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.resources import files as package_files
from importlib.resources.abc import Traversable
from typing import Any

from ..language.errors import ConfigError, UnreadError, choose, listed
from ..language.sizes import format_value

# Every model type of transformers 5.23. A config with one of these types is never read as a config of another type.
TYPES = package_files("symformer.configs") / "model_types.txt"


def reader(
    path: str,
    config: Mapping[str, Any],
    files: Mapping[str, Traversable],
    types: Callable[[str], tuple[str, ...]],
    classes: Callable[[str], Iterable[str]],
) -> tuple[str, str]:
    """Return the name of the architecture that reads a config, and the assumption behind that choice, or "".

    There is an assumption if no architecture has the model type and the torch class of the config decides.

    Parameters
    ----------
    path
        The name of the config in error messages.
    config
        The fields of the config.
    files
        The module file of each architecture, by name.
    types, classes
        Return the model types and the torch classes of an architecture by name. Both import the architecture.

    Raises
    ------
    ConfigError
        If the config has no model type.
    UnreadError
        If no architecture supports the model type or the class.

    """
    model_type = config.get("model_type")
    if isinstance(model_type, str):
        for name in _likely(model_type, files):
            if model_type in types(name):
                return name, ""
        match config.get("architectures"):
            case [str(named)] if model_type not in TYPES.read_text("utf-8").split():
                if found := next((name for name in files if named in classes(name)), ""):
                    return (
                        found,
                        f"model_type {format_value(model_type)} is unknown; the class {named} determines the model",
                    )
    match config:
        case {"_class_name": str(), "architectures": [str(named)]} if model_type is None:
            if found := next((name for name in files if named in classes(name)), ""):
                return found, ""
            raise UnreadError(f"{path} names the diffusers class {named}, which no built-in architecture supports")
    if model_type is None:
        known = sorted(each for name in files for each in types(name))
        raise ConfigError(f"{path} has no 'model_type'; set it to one of: {listed(known)}")
    near, spelt = "", format_value(model_type)
    if isinstance(model_type, str) and model_type not in TYPES.read_text("utf-8").split():
        near = choose(model_type, (name.replace("-", "_") for name in files), "")
    raise UnreadError(f"{path}: 'model_type' is {spelt}, which no built-in architecture supports", near)


def _likely(model_type: str, files: Mapping[str, Traversable]) -> Iterator[str]:
    """Yield the architecture of the same name, then those whose code contains the type. No other can support it."""
    called = model_type.replace("_", "-")
    if called in files:
        yield called
    naming = {name for name, file in files.items() if f'"{model_type}"' in file.read_text("utf-8")} - {called}
    yield from sorted(naming)
