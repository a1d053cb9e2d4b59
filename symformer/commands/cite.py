"""``symformer cite``: BibTeX for formulas and their papers."""

from __future__ import annotations

import click

from .. import __version__
from . import arguments, completion_values
from .base_command import Command
from .terminal import print_lines


@click.command("cite", cls=Command)
@click.argument("ids", metavar="ID...", nargs=-1, required=True, shell_complete=completion_values.id)
@arguments.option
def command(ids: tuple[str, ...], options: tuple[str, ...]) -> None:
    """Print BibTeX for formulas and their papers.

    Each entry is printed once. An ID joins a target, a quantity and optionally a part (gpt2.params,
    gpt2.params.h.attn), or is the key of a paper (vaswani2017).
    """
    from ..targets.resolution import pairs
    from ..views.citations import bibtex

    print_lines(bibtex(ids, __version__, pairs(options)) + "\n")
