"""``symformer list``: the architectures, presets, components and quantities."""

from __future__ import annotations

import click

from . import arguments
from .base_command import Command
from .terminal import print_json, print_line, spell, table

_BRIEF = 64  # characters of a formula in a list


@click.command("list", cls=Command)
@click.option("--presets", "only_presets", is_flag=True, help="List only the presets, with their Hub ids and sources.")
@arguments.as_json
def command(only_presets: bool, as_json: bool) -> None:
    """List architectures, presets, components and quantities."""
    from .. import architectures, components
    from ..quantities import quantities
    from ..quantities.quantity import PLACEMENT
    from ..quantities.rule_sets.rule_set import RuleSetQuantity

    presets = architectures.presets()
    if only_presets:
        if as_json:
            print_json(presets)
            return
        rows = [[name, facts["architecture"], facts.get("hub", ""), facts["source"]] for name, facts in presets.items()]
        table(["name", "architecture", "Hugging Face Hub", "source of the sizes"], rows, "llll")
        return
    if as_json:
        print_json(
            {
                "architectures": architectures.all_names(),
                "presets": {name: facts["architecture"] for name, facts in presets.items()},
                "components": [f"component:{name}" for name in components.all_names()],
                "quantities": {name: question.measure.unit for name, question in quantities().items()},
                "placement": {name: list(convention.meanings) for name, convention in PLACEMENT.items()},
            }
        )
        return
    print_line("Architectures")
    rows = []
    for name in architectures.all_names():
        model = architectures.architecture(name)
        rows.append([name, model.title, _brief(spell(model.params.display_expr))])
    table(["name", "title", "parameters"], rows, "lll")
    print_line("\nPresets: published sizes of an architecture (--presets lists their sources)")
    rows = [[name, ", ".join(architectures.presets_of(name))] for name in architectures.all_names()]
    table(["architecture", "presets"], rows, "ll")
    print_line("\nComponents")
    rows = []
    for name in components.all_names():
        part = components.component(name)
        rows.append([f"component:{name}", part.title, _brief(spell(part.params.display_expr))])
    table(["name", "title", "parameters"], rows, "lll")
    print_line("\nQuantities")
    rows = []
    for name, question in quantities().items():
        named = {key: rule for key, rule in question.choices.items() if key not in PLACEMENT}
        choices = [f"{key}={'|'.join(rule.meanings)}" for key, rule in named.items()]
        rows.append([name, question.measure.title, question.measure.unit, " ".join(choices)])
    table(["name", "title", "unit", "conventions"], rows, "llll")
    print_line("\nFLOPs as counted by papers and tools")
    rows = []
    for name, question in quantities().items():
        sets = question.rule_sets if isinstance(question, RuleSetQuantity) else {}
        rows += [[f"counted={key}", name, rules.who, rules.where] for key, rules in sets.items()]
    table(["option", "quantity", "counted by", "source"], rows, "llll")
    print_line("\nParallelism options, for quantities per rank")
    rows = []
    for name, convention in PLACEMENT.items():
        rows += [[f"{name}={choice}", meaning] for choice, meaning in convention.meanings.items()]
    table(["option", "meaning"], rows, "ll")


def _brief(spelt: str) -> str:
    """Return a formula shortened to the width of a column, with an ellipsis if terms are missing."""
    return spelt if len(spelt) <= _BRIEF else spelt[: spelt.rindex(" + ", 0, _BRIEF)] + " + …"
