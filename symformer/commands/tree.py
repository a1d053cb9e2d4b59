"""``symformer tree``: the module tree, with each module's share."""

from __future__ import annotations

import click

from . import arguments
from .base_command import Command
from .terminal import print_blocks, print_json


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
    from ..views.module_tree import ModuleTree

    found = ModuleTree.of(*arguments.formula(target, quantity, sets, options))
    if as_json:
        print_json(found.to_json())
    else:
        print_blocks(found.to_blocks())
