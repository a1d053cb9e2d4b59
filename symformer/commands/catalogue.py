"""``symformer catalogue``: the torch classes whose formulas come with the package."""

from __future__ import annotations

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
    them. Structures are told apart by the switches that change what a class stores or does.
    """
    from ..catalogue.shelf import classes, on_shelf
    from ..language.errors import UnknownNameError

    facts = []
    for name in classes():
        entries = [entry for entry, _ in on_shelf(name)]
        types = list(dict.fromkeys(each for entry in entries for each in entry.model_types))
        if words and not any(word.lower() in text.lower() for word in words for text in (name, *types)):
            continue
        versions = dict.fromkeys(", ".join(f"{each} {v}" for each, v in entry.versions.items()) for entry in entries)
        operations = sum("operations" in entry.records for entry in entries)
        facts.append(
            {
                "class": name,
                "types": types,
                "structures": len(entries),
                "with operations": operations,
                "read with": list(versions),
            }
        )
    if words and not facts:
        raise UnknownNameError("class or model type", " ".join(words), classes(), "symformer catalogue has them all")
    if as_json:
        put_json(facts)
        return
    rows = [[str(each["class"]), ", ".join(each["types"]), str(each["structures"])] for each in facts]  # type: ignore[arg-type]
    table(["class", "model types", "structures"], rows, "llr")
    for versions in dict.fromkeys(one for each in facts for one in each["read with"]):  # type: ignore[attr-defined]
        say(f"read off their code with {versions}, and held to it at random configs")
