"""Configs with sections: the fields of a part are named by their path, such as ``text_config.hidden_size``."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ..language.errors import ConfigError
from ..language.sizes import format_value


def flatten(config: Mapping[str, Any], sections: Collection[str]) -> dict[str, Any]:
    """Return every field of a config by its path; a null section has no fields. Raises ConfigError.

    >>> flatten({"projection_dim": 5, "text_config": {"hidden_size": 7}, "vision_config": None}, ["text_config"])
    {'projection_dim': 5, 'text_config.hidden_size': 7, 'vision_config': None}
    """
    found: dict[str, Any] = {}
    for name, value in config.items():
        section, dot, inside = name.partition(".")
        if dot and section in sections:
            raise ConfigError(f"the config has a field {name!r}; move {inside!r} into the object {section!r}")
        if name not in sections:
            found[name] = value
        elif not isinstance(value, dict | None):
            raise ConfigError(f"{name!r} is {format_value(value)} in the config; it should be an object or null")
        else:
            found |= {f"{name}.{each}": given for each, given in (value or {}).items()}
    return found


def nest(config: Mapping[str, Any], sections: Collection[str]) -> dict[str, Any]:
    """Return the nested config of fields named by their paths.

    >>> nest({"projection_dim": 5, "text_config.hidden_size": 7}, ["text_config"])
    {'projection_dim': 5, 'text_config': {'hidden_size': 7}}
    """
    found: dict[str, Any] = {}
    for path, value in config.items():
        section, _, name = path.partition(".")
        if section in sections:
            found.setdefault(section, {})[name] = value
        else:
            found[path] = value
    return found
