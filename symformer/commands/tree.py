"""``symformer tree``: the module tree, with each module's share."""

from __future__ import annotations

import click

from . import arguments
from .base_command import Command
from .terminal import print_json, print_line, spell, spell_line, table


@click.command("tree", cls=Command)
@arguments.target
@arguments.quantity
@arguments.sets
@arguments.option
@arguments.as_json
def command(target: str, quantity: str, sets: tuple[str, ...], options: tuple[str, ...], as_json: bool) -> None:
    """Show the module tree with each module's share.

    `symformer --help` lists the forms of a TARGET.
    """
    from ..formulas import ranks
    from ..language.notation.text import code, percent, text
    from ..language.sizes import evaluate
    from ..views.provenance_lines import provenance_json, provenance_lines
    from ..views.summary import config_commit, missing_of, module_tree, notes, remarks, share, value_of

    model, formula = arguments.formula(target, quantity, sets, options)
    root, whole = module_tree(model, formula), value_of(formula, model)
    rows, facts, guides = [], [], []
    for guide, node in root.lines():
        value = None if whole is None else evaluate(node.total, model.known, node.name)
        cells = [node.title(spell), spell(node.total)]
        if whole is not None and value is not None:
            cells += [f"{value:,}", percent(share(value, whole))]
        rows.append(cells)
        guides.append(guide)
        facts.append({"module": guide[0] + node.title(text), "formula": code(node.total), "value": value})
    if as_json:
        print_json(
            {
                "target": model.target,
                **config_commit(model),
                "quantity": quantity,
                "unit": formula.measure.unit,
                "missing": [str(size) for size in missing_of(formula, model)],
                "notes": notes(model, formula),
                **ranks.facts(formula.ranks, model.known),
                "modules": facts,
                "provenance": provenance_json(model, formula),
            }
        )
        return
    numbered = whole is not None
    head = ["module", formula.measure.title, *([formula.measure.unit, "share"] if numbered else [])]
    table(head, rows, "llrr" if numbered else "ll", guides=guides)
    print_line()
    for line in [*map(spell_line, remarks(model, formula)), *provenance_lines(model, formula)]:
        print_line(line)
