"""``symformer catalogue``: the torch classes whose formulas are included in the package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from . import arguments
from .base_command import Command
from .terminal import print_blocks, print_json

if TYPE_CHECKING:
    from ..output.blocks import Paragraph
    from ..views.catalogue_class import CatalogueClass


@click.command("catalogue", cls=Command)
@click.argument("words", nargs=-1)
@arguments.as_json
def command(words: tuple[str, ...], as_json: bool) -> None:
    """List the classes in the catalogue.

    For a config.json of one of these classes, symformer does not need torch. The catalogue covers every config switch
    that changes what a class stores or computes. With WORDS, list only the classes whose name or model type contains
    one of them. If exactly one class matches, print its formulas and the change that each switch makes.
    """
    from ..catalogue.entries import census_types, classes, find_entry
    from ..catalogue.record import OPERATIONS
    from ..language.errors import CatalogueError, UnknownNameError
    from ..models.provenance import libraries
    from ..output.blocks import Table
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
                "read with": libraries(kept.config.versions),
            }
        )
    if words and not facts:
        for name in words:
            if (known := census_types().get(name)) is not None and known.why:
                raise CatalogueError(f"the catalogue has no formula for {name}: {known.why}")
        raise UnknownNameError(
            "class or model type", " ".join(words), dict(classes()), "`symformer catalogue` lists them all"
        )
    alone = find_entry(facts[0]["class"], facts[0]["type"]) if len(facts) == 1 else None
    if alone is not None:
        _print_class(catalogue_class(alone), facts[0], as_json)
    elif as_json:
        print_json(facts)
    else:
        rows = [
            [each["class"], each["type"], _COVERED[each["operations"]], ", ".join(each["switches"])] for each in facts
        ]
        table = Table.of(["class", "model type", "quantities", "supported switches"], rows, "llll")
        print_blocks([table, *map(_traced_with, dict.fromkeys(each["read with"] for each in facts))])


_COVERED = {True: "parameters and runs", False: "parameters"}


def _traced_with(versions: str) -> Paragraph:
    from ..output.blocks import Paragraph

    return Paragraph([f"traced with {versions}; checked at random configs"])


def _print_class(found: CatalogueClass, facts: dict[str, Any], as_json: bool) -> None:
    """Print one class: its formulas, the config fields of its sizes, and the change that each switch makes."""
    from ..language.errors import listed
    from ..language.notation.text import code
    from ..output.blocks import BriefBlock, Heading, Math, Paragraph, Table
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
    counts = listed(each.measure.title for each in found.formulas.values())
    letters = ", ".join(f"{letter} = {place}" for letter, place in found.fields.items() if letter != place)
    conditions = ", ".join(map(str, found.conditions))
    lines = [f"with {letters}"] * bool(letters) + [f"valid if {conditions}"] * bool(conditions) + said
    blocks: list[BriefBlock] = [
        Heading(1, [f"{facts['class']} ({facts['type']}): {counts}"]),
        *(formula.equation() for formula in found.formulas.values()),
        *(Paragraph([line]) for line in lines),
    ]
    rows = [[each.said, "unknown" if each.adds is None else Math.of(each.adds)] for each in found.switches]
    if rows:
        blocks.append(Table.of(["config switch", "change in N"], rows, "ll"))
    print_blocks([*blocks, _traced_with(facts["read with"])])
