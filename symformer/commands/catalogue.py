"""``symformer catalogue``: the torch classes whose formulas come with the package."""

from __future__ import annotations

from typing import Any

import click

from . import arguments
from .shell import Command
from .terminal import put_json, say, table


@click.command("catalogue", cls=Command)
@click.argument("words", nargs=-1)
@arguments.as_json
def command(words: tuple[str, ...], as_json: bool) -> None:
    """List the classes in the catalogue.

    A config.json of one of them is answered without torch. With WORDS, those whose class or model type has one of
    them. A class is known with each of its switches turned, where these change what it stores or does.
    """
    from ..catalogue.record import OPERATIONS
    from ..catalogue.shelf import classes, on_shelf
    from ..language.errors import UnknownNameError

    facts: list[dict[str, Any]] = []
    for name, model_type in classes():
        kept = on_shelf(name, model_type)
        if kept is None or (words and not any(word.lower() in f"{name} {model_type}".lower() for word in words)):
            continue
        facts.append(
            {
                "class": name,
                "type": model_type,
                "switches": sorted({field for turn in kept.turns for field in turn.fields}),
                "operations": OPERATIONS in kept.records,
                "read with": ", ".join(f"{each} {version}" for each, version in kept.entry.versions.items()),
            }
        )
    if words and not facts:
        raise UnknownNameError(
            "class or model type", " ".join(words), dict(classes()), "symformer catalogue has them all"
        )
    if as_json:
        put_json(facts)
        return
    rows = [[each["class"], each["type"], ", ".join(each["switches"])] for each in facts]
    table(["class", "model type", "switches it may have turned"], rows, "lll")
    for versions in dict.fromkeys(each["read with"] for each in facts):
        say(f"read off their code with {versions}, and held to it at random configs")
