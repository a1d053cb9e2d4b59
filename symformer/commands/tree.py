"""``symformer tree``: the module tree, with each module's share."""

from __future__ import annotations

import click

from . import arguments
from .base_command import Command
from .terminal import print_result


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

    print_result(ModuleTree.of(*arguments.formula(target, quantity, sets, options)), as_json)
