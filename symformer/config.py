"""Reading a config.json: what the file is, before anybody asks what it means."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .errors import ConfigError

MAX_BYTES = 1_000_000


def read_config(path: str) -> dict[str, Any]:
    """The JSON object in a file. Raises ConfigError: missing, unreadable, empty, too large, not JSON, not an object."""
    place = Path(path)
    try:
        if place.is_dir():
            raise ConfigError(f"{path} is a folder; give the path of the config.json in it")
        if place.stat().st_size > MAX_BYTES:
            raise ConfigError(f"{path} is larger than {MAX_BYTES:,} bytes, which no config.json is")
        text = place.read_text("utf-8")
    except FileNotFoundError:
        raise ConfigError(f"{path} does not exist; give the path of a config.json") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not text in UTF-8, so it is no config.json") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    if not text.strip():
        raise ConfigError(f"{path} is empty; a config.json holds one JSON object")
    try:
        config = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is not JSON: {str(error)[:120]}") from None
    if not isinstance(config, dict):
        kind = {"list": "a list", "NoneType": "null", "str": "a string"}.get(type(config).__name__, "a single value")
        raise ConfigError(f"{path} holds {kind}; a config.json holds one JSON object")
    return config
