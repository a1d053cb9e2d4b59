"""``symformer cite``: BibTeX for a formula and its papers."""

from __future__ import annotations

import click

from . import completing
from .shell import Command, version
from .terminal import put


@click.command("cite", cls=Command)
@click.argument("formula_id", metavar="ID", shell_complete=completing.id)
def command(formula_id: str) -> None:
    """Print BibTeX for a formula and its papers.

    An ID is a target, a quantity and a part: gpt2.params, gpt2.params.h.attn.
    """
    from ..answers.citations import bibtex

    put(bibtex(formula_id, version()) + "\n")
