"""``symformer catalogue``: the torch classes whose formulas are included in the package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from . import arguments
from .base_command import Command
from .terminal import print_json, print_line, table

if TYPE_CHECKING:
    from ..views.catalogue_class import CatalogueClass


@click.command("catalogue", cls=Command)
@click.argument("words", nargs=-1)
@arguments.as_json
def command(words: tuple[str, ...], as_json: bool) -> None:
    """List the classes in the catalogue.

    A config.json of one of these classes is answered without torch. With WORDS, list only the classes whose name or
    model type contains one of them. The catalogue covers every config switch that changes what a class stores or
    computes. If exactly one class matches, print its formulas and the change that each switch makes.
    """
    from ..catalogue.entries import classes, find_entry
    from ..catalogue.record import OPERATIONS
    from ..language.errors import UnknownNameError
    from ..views.catalogue_class import catalogue_class

    asked = {word.lower() for word in words}
    # A word that is a complete name selects only that class, not every name that contains it.
    found = [each for each in classes() if asked & {name.lower() for name in each}]
    found = found or [each for each in classes() if any(word in " ".join(each).lower() for word in asked or [""])]
    facts: list[dict[str, Any]] = []
    for name, model_type in found:
        kept = find_entry(name, model_type)
        if kept is None:
            continue
        facts.append(
            {
                "class": name,
                "type": model_type,
                "switches": sorted({field for turn in kept.option_effects for field in turn.fields}),
                "operations": OPERATIONS in kept.records,
                "read with": ", ".join(f"{each} {version}" for each, version in kept.config.versions.items()),
            }
        )
    if words and not facts:
        raise UnknownNameError(
            "class or model type", " ".join(words), dict(classes()), "symformer catalogue lists them all"
        )
    alone = find_entry(facts[0]["class"], facts[0]["type"]) if len(facts) == 1 else None
    if alone is not None:
        _say_alone(catalogue_class(alone), facts[0], as_json)
        return
    if as_json:
        print_json(facts)
        return
    rows = [[each["class"], each["type"], ", ".join(each["switches"])] for each in facts]
    table(["class", "model type", "supported switches"], rows, "lll")
    for versions in dict.fromkeys(each["read with"] for each in facts):
        print_line(f"traced with {versions}; checked at random configs")


def _say_alone(found: CatalogueClass, facts: dict[str, Any], as_json: bool) -> None:
    """Print one class: its formulas, the config fields of its sizes, and the change that each switch makes."""
    from ..language.errors import listed
    from ..language.notation.text import code, text
    from ..views.catalogue_class import fixed_sizes

    said = ["".join(each) for each in fixed_sizes(found)]
    if as_json:
        adds = [
            {"switches": dict(each.fields), "formula": None if each.adds is None else code(each.adds)}
            for each in found.switches
        ]
        formulas = {name: formula.code() for name, formula in found.formulas.items()}
        print_json([facts | {"formulas": formulas, "symbols": dict(found.fields), "held": said, "adds": adds}])
        return
    print_line(f"{facts['class']} ({facts['type']}): {listed(each.measure.title for each in found.formulas.values())}")
    for formula in found.formulas.values():
        print_line(f"{formula.measure.letter} = {formula.text()}")
    if letters := [f"{letter} = {place}" for letter, place in found.fields.items() if letter != place]:
        print_line(f"with {', '.join(letters)}")
    if found.conditions:
        print_line(f"valid if {', '.join(map(str, found.conditions))}")
    for line in said:
        print_line(line)
    print_line("")
    rows = [[each.said, "unknown" if each.adds is None else text(each.adds)] for each in found.switches]
    if rows:
        table(["config switch", "change in N"], rows, "ll")
    print_line(f"traced with {facts['read with']}; checked at random configs")
