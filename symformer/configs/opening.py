"""A config opened, wherever it is: in a file, in a folder that holds one, on standard input, or on the Hub."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ..language.errors import ConfigError
from ..language.sizes import shown
from ..language.symbols import E, L, V, letter
from ..language.target import Kind, parse
from .known import Config
from .places import whole_number
from .reading import read_config

_TYPE = re.compile(r"[A-Za-z0-9][\w.-]{0,99}", re.ASCII)  # what is called so, and no path
NEEDED = tuple(name for size in (V, E, L) for name in letter(size).config)  # none of these is ever a switch
OF_ALL_SORTS = {"ada_norm_zero": "DiTTransformer2DModel", "ada_norm_single": "PixArtTransformer2DModel"}  # by norms


@dataclass(frozen=True)
class Opened:
    """The JSON object of a config, and where it was read: of a file its name says that."""

    config: dict[str, Any]
    commit: str = ""  # of the repository on the Hub
    unasked: str = ""  # why the Hub was not asked whether there is a later one


def open_config(target: str) -> Opened:
    """The config that a path or an id on the Hub names. Raises ConfigError; FetchError where the Hub gives none."""
    named = parse(target)
    if named.kind is not Kind.HUB:
        return Opened(_sound(target, read_config(target)))
    from .hub import fetch

    found = fetch(named.name, named.revision)
    return Opened(_sound(target, read_config(found.path)), found.commit, found.unasked)


def _sound(target: str, config: dict[str, Any]) -> dict[str, Any]:
    """A config whose class and whose first sizes can be what they say, whoever reads it. Raises ConfigError."""
    try:
        _hold(config)
    except ConfigError as error:
        raise ConfigError(f"{target}: {error}") from None
    return _named(config)


def _named(config: dict[str, Any]) -> dict[str, Any]:
    """A config of diffusers, which names its class in a field of its own, as one that names it like all others.

    What one class was for all sorts of models is another class for each; diffusers reads its configs as theirs too.
    """
    match config:
        case {"_class_name": str(name)} if name.isidentifier() and not {"model_type", "architectures"} & config.keys():
            named = OF_ALL_SORTS.get(str(config.get("norm_type")), name) if name == "Transformer2DModel" else name
            return {**config, "architectures": [named]}
    return config


def _hold(config: Config) -> None:
    match config.get("model_type"):
        case None:
            pass  # whoever reads it says which types there are
        case str(name) if _TYPE.fullmatch(name):
            pass
        case other:
            raise ConfigError(
                f"'model_type' is {shown(other)} in the config; it should be the name of a model type, such as 'gpt2'"
            )
    match config.get("architectures"):
        case None:
            pass
        case [str(name)]:
            if not name.isidentifier():
                raise ConfigError(f"'architectures' names {shown(name)}, which is no name of a class")
        case other:
            raise ConfigError(f"'architectures' is {shown(other)} in the config; it should be a list of one class name")
    for name in NEEDED:
        if isinstance(config.get(name), int | float | str):  # null, and a list of stages, are for whoever reads them
            whole_number(name, config[name])
