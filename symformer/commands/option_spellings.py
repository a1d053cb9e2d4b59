"""Other spellings of commands and options: former ones and likely first guesses. Help shows none of them."""

from __future__ import annotations

from collections.abc import Mapping

# By the spelling that help shows, with the command if the option of another command is not meant.
OPTIONS: Mapping[str, tuple[str, ...]] = {
    "--set": ("--given",),
    "--where": ("--relation", "--name"),
    "--find": ("--for",),
    "--tolerance": ("--within",),
    "--grid": ("--over",),
    "sweep --limit": ("--top",),
    "--sort-by": ("--by",),
    "--divide-by": ("--over",),
    "--match": ("--same",),
    "--adjust": ("--by",),
    "sensitivity --x": ("--by",),
    "--format": ("--as",),
    "--flavour": ("--flavor",),
    "--live": ("--interactive",),
    "verify --write": ("--save",),
    "trace --at": ("--evaluate-at",),
}
COMMANDS: Mapping[str, str] = {"catalog": "catalogue", "literature": "papers", "build-catalogue": "census"}


def others(command: str, option: str) -> tuple[str, ...]:
    """Return the other spellings of an option of a command.

    >>> others("sweep", "--limit"), others("census", "--limit")
    (('--top',), ())
    """
    return OPTIONS.get(f"{command} {option}", OPTIONS.get(option, ()))
