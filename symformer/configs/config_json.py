"""Reading a config.json as a JSON object, without interpreting its fields."""

from __future__ import annotations

import json
import os
import re
import select
import stat
import time
from collections.abc import Mapping
from operator import index
from typing import Any

from ..language.errors import ConfigError
from ..language.target import ConfigObject

CONFIG = "config.json"
PIPELINE = "model_index.json"  # of a diffusers pipeline
PARSED = 500  # levels that json can parse with the stack of a browser
MAX_BYTES = 16_000_000  # lists of unquantized layers can be 3 MB long
DEEPEST = 32  # levels of nested lists and objects; published configs have at most 8
FLOAT = "__float__"  # the key under which transformers writes numbers that JSON lacks
PATIENCE = 5.0  # seconds to wait for the next bytes of a pipe


def read_config(path: str) -> dict[str, Any]:
    """Return the JSON object in a file or a pipe, or in the config.json of a folder.

    Raises
    ------
    ConfigError
        If the file is missing, unreadable, empty, too large, not a regular file or pipe, not JSON, or not an object, or
        has a key twice.

    """
    try:
        text = _bytes(path).decode("utf-8")
    except FileNotFoundError:
        raise ConfigError(f"{path} does not exist; give the path of a config.json") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8 text, so it is not a config.json") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:  # a path with a zero byte
        raise ConfigError(f"{path!r} is not a valid path: {error}") from None
    return _parsed(path, text)


def read_object(name: str, given: Mapping[str, Any] | ConfigObject) -> dict[str, Any]:
    """Return a mapping or a transformers config object as the JSON object of its config.json.

    Tuples become lists, and NumPy and torch integers become numbers.

    Raises
    ------
    ConfigError
        If a value has no JSON form.

    """
    try:
        text = json.dumps(dict(given), default=_plain) if isinstance(given, Mapping) else given.to_json_string()
    except RecursionError:
        raise ConfigError(_TOO_DEEP.format(name)) from None
    except Exception as error:  # raised by a foreign object
        raise ConfigError(f"{name} cannot be written as a config.json: {' '.join(str(error).split())[:200]}") from None
    return _parsed(name, text)


def _plain(value: Any) -> Any:
    """Return the JSON form of an object in a config. Raises TypeError."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, ConfigObject) and not isinstance(value, type):
        return json.loads(value.to_json_string())
    if f"{type(value).__module__}.{type(value).__name__}" == "torch.dtype":
        return str(value).removeprefix("torch.")
    if not hasattr(value, "__index__"):
        raise TypeError(f"a value of type {type(value).__name__} has no JSON form")
    return index(value)


def _parsed(path: str, text: str) -> dict[str, Any]:
    """Return the JSON object in a text. Raises ConfigError."""
    if text.startswith("\ufeff"):
        raise ConfigError(f"{path} begins with a byte order mark; save it as UTF-8 without one")
    if not text.strip():
        raise ConfigError(f"{path} is empty; a config.json must be one JSON object")
    if _brackets(text) > PARSED and _nesting(text) > PARSED:
        raise ConfigError(_TOO_DEEP.format(path))
    try:
        config = json.loads(text, object_pairs_hook=_once)
    except _TwiceError as error:
        raise ConfigError(f"{path} has the key {error.key!r} twice in one object; keep one") from None
    except json.JSONDecodeError as error:
        raise ConfigError(f"{path} is not valid JSON: {str(error)[:120]}") from None
    except RecursionError:
        raise ConfigError(_TOO_DEEP.format(path)) from None
    except ValueError:  # Python's limit on digits; its message is for programmers
        raise ConfigError(f"{path} contains a number with thousands of digits, too large for a size") from None
    if _deeper(config, DEEPEST):
        raise ConfigError(_TOO_DEEP.format(path))
    if not isinstance(config, dict):
        kind = {"list": "a list", "NoneType": "null", "str": "a string"}.get(type(config).__name__, "a single value")
        raise ConfigError(f"{path} contains {kind}; a config.json must be one JSON object")
    return config


_TOO_DEEP = f"{{}} nests lists or objects more than {DEEPEST} levels deep, which no config.json does"


_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[{]|[\]}]')


def _brackets(text: str) -> int:
    """Return the number of lists and objects that a text may open."""
    return text.count("[") + text.count("{")


def _nesting(text: str) -> int:
    """Return how deep the lists and objects of a JSON text are nested, without parsing it.

    >>> _nesting('{"a": [[1], "[[["]}')
    3
    """
    depth = deepest = 0
    for found in _BRACKET.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
        deepest = max(deepest, depth)
    return deepest


def _deeper(value: Any, most: int) -> bool:
    """Return True if lists and objects are nested deeper than ``most`` levels."""
    level = [value]
    for _ in range(most + 1):
        level = [
            inside
            for each in level
            if isinstance(each, dict | list)
            for inside in (each.values() if isinstance(each, dict) else each)
        ]
    return bool(level)


class _TwiceError(Exception):
    """A duplicate key in an object; json alone would keep the last value."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any] | float:
    """Return an object, or infinity if the object is the form in which transformers writes it."""
    if len(pairs) == 1 and pairs[0][0] == FLOAT and pairs[0][1] in ("Infinity", "-Infinity"):
        return float(pairs[0][1])
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _TwiceError(key)
        found[key] = value
    return found


def _bytes(path: str) -> bytes:
    """Return the bytes of a file or a pipe, reading no more than the limit whatever the file's stated size."""
    # O_NONBLOCK: do not wait for a pipe without a writer.
    place = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        mode = os.fstat(place).st_mode
        if stat.S_ISDIR(mode):
            return _bytes(_within(path))
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
            raise ConfigError(f"{path} is neither a file nor a pipe; give the path of a config.json")
        if stat.S_ISFIFO(mode):
            _await(path, place)
        found, size = [], 0
        while piece := _next(path, place, MAX_BYTES + 1 - size):
            found.append(piece)
            size += len(piece)
            if size > MAX_BYTES:
                raise ConfigError(f"{path} is larger than {MAX_BYTES:,} bytes, too large for a config.json")
    finally:
        os.close(place)
    return b"".join(found)


def _within(folder: str) -> str:
    """Return the path of the config.json of a folder, or of its model_index.json if it holds a pipeline."""
    path, index = os.path.join(folder, CONFIG), os.path.join(folder, PIPELINE)
    if not os.path.lexists(path) and os.path.isfile(index):
        return index
    if os.path.basename(folder) == CONFIG or not os.path.lexists(path):
        raise ConfigError(f"{folder} is a folder without a {CONFIG}; give the path of one")
    return path


def _await(path: str, place: int) -> None:
    """Wait until a pipe has data or is closed. Raises ConfigError."""
    if not select.select([place], [], [], PATIENCE)[0]:
        raise ConfigError(f"{path} is a pipe without a writer; give the path of a config.json")


def _next(path: str, place: int, most: int) -> bytes:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            return os.read(place, min(most, 1 << 20))
        except BlockingIOError:
            select.select([place], [], [], PATIENCE)
    raise ConfigError(f"{path} is a pipe whose writer stopped sending; give the path of a config.json")
