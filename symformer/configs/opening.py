"""A config opened, wherever it is: in a file, in a folder that holds one, on standard input, or on the Hub."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..language.target import Kind, parse
from .reading import read_config


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
        return Opened(read_config(target))
    from .hub import fetch

    found = fetch(named.name, named.revision)
    return Opened(read_config(found.path), found.commit, found.unasked)
