"""``symformer list``: the architectures, presets, components and quantities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from . import arguments
from .base_command import Command
from .terminal import print_blocks, print_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..output.blocks import Piece, Table

INTEGER = {"int8": "OP/s"}  # the unit of the peak of a dtype that is not a floating-point dtype


@click.command("list", cls=Command)
@click.option("--presets", "only_presets", is_flag=True, help="List only the presets, with their Hub ids and sources.")
@click.option("--devices", "only_devices", is_flag=True, help="List only the devices, with their sources.")
@arguments.as_json
def command(only_presets: bool, only_devices: bool, as_json: bool) -> None:
    """List architectures, presets, components and quantities."""
    from .. import architectures, components
    from ..output.blocks import Table
    from ..quantities import quantities
    from ..quantities.quantity import PLACEMENT

    if only_presets and only_devices:
        raise click.UsageError("--presets cannot be combined with --devices; remove one of the two")
    if only_devices:
        _devices(as_json)
        return
    presets = architectures.presets()
    if as_json and only_presets:
        print_json(presets)
    elif as_json:
        print_json(
            {
                "architectures": architectures.all_names(),
                "presets": {name: facts["architecture"] for name, facts in presets.items()},
                "components": [f"component:{name}" for name in components.all_names()],
                "quantities": {name: question.measure.unit for name, question in quantities().items()},
                "placement": {name: list(convention.meanings) for name, convention in PLACEMENT.items()},
            }
        )
    elif only_presets:
        rows = [[name, each["architecture"], each.get("hub", ""), each["source"]] for name, each in presets.items()]
        print_blocks([Table.of(["name", "architecture", "Hugging Face Hub", "source of the sizes"], rows, "llll")])
    else:
        print_blocks(_tables())


def _devices(as_json: bool) -> None:
    """Print the devices."""
    from ..devices import devices
    from ..output.blocks import Table
    from ..views.device_bounds import memory_text, rate_text

    if as_json:
        facts = {
            name: {
                "title": each.title,
                "memory": each.memory,
                "bandwidth": each.bandwidth,
                "peak": dict(each.peak),
                "links": dict(each.links),
                "source": each.source,
            }
            for name, each in devices().items()
        }
        print_json(facts)
        return
    rows = [
        [
            name,
            memory_text(each.memory),
            "" if each.bandwidth is None else rate_text(each.bandwidth, "B/s"),
            ", ".join(
                f"{dtype} {rate_text(value, INTEGER.get(dtype, 'FLOP/s'))}" for dtype, value in each.peak.items()
            ),
            ", ".join(f"{link} {rate_text(value, 'B/s')}" for link, value in each.links.items()),
            each.source,
        ]
        for name, each in devices().items()
    ]
    head = ["name", "memory", "bandwidth", "dense peak", "links, both directions", "source"]
    print_blocks([Table.of(head, rows, "lrrlll")])


def _tables() -> Iterator[Table]:
    """Yield one table for each kind of entry."""
    from .. import architectures, components
    from ..output.blocks import Table
    from ..quantities import quantities
    from ..quantities.quantity import PLACEMENT
    from ..quantities.rule_sets.rule_set import RuleSetQuantity
    from ..views.stored_summaries import COMPONENT

    names = architectures.all_names()
    yield Table.of(["name", "title", "parameters"], map(_row, names), "lll", caption=["Architectures"])
    rows: list[list[Piece]] = [[name, ", ".join(architectures.presets_of(name))] for name in names]
    caption = "Presets: published sizes of an architecture (--presets lists their sources)"
    yield Table.of(["architecture", "presets"], rows, "ll", caption=[caption])
    parts = [f"{COMPONENT}{name}" for name in components.all_names()]
    yield Table.of(["name", "title", "parameters"], map(_row, parts), "lll", caption=["Components"])
    rows, rule_sets = [], list[list[str]]()
    for name, question in quantities().items():
        named = {key: rule for key, rule in question.choices.items() if key not in PLACEMENT}
        choices = [f"{key}={'|'.join([*rule.usual, *(['…'] if rule.unusual else [])])}" for key, rule in named.items()]
        rows.append([name, question.measure.title, question.measure.unit, " ".join(choices)])
        sets = question.rule_sets if isinstance(question, RuleSetQuantity) else {}
        rule_sets += [[f"counted={key}", name, rules.who, rules.where] for key, rules in sets.items()]
    yield Table.of(["name", "title", "unit", "conventions"], rows, "llll", caption=["Quantities"])
    caption = "FLOPs as counted by papers and tools"
    yield Table.of(["option", "quantity", "counted by", "source"], rule_sets, "llll", caption=[caption])
    rows = [[f"{name}={each}", said] for name, rule in PLACEMENT.items() for each, said in rule.meanings.items()]
    caption = "Parallelism options, for quantities per rank"
    yield Table.of(["option", "meaning"], rows, "ll", caption=[caption])


def _row(name: str) -> list[Piece]:
    """Return the row of an architecture or a component: its name, its title and its number of parameters."""
    from ..views.stored_summaries import brief

    return [name, *brief(name)]
