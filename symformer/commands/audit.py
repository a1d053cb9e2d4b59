"""``symformer audit``: the macros and numbers of a paper, compared with the current formulas."""

from __future__ import annotations

import click

from . import arguments, completion_values
from .base_command import REFUSED, Command
from .terminal import print_error, print_json, print_line, progress

DIFFERS = 1  # the status of an audit that found a difference


@click.command("audit", cls=Command)
@click.argument("paper", metavar="PAPER.tex", shell_complete=completion_values.file)
@click.option(
    "--configs", is_flag=True, help="Also open the config.json files that the paper names, on disk and on the Hub."
)
@arguments.as_json
def command(paper: str, configs: bool, as_json: bool) -> int:
    r"""Check a paper's numbers against the current formulas.

    It checks the macros written by `symformer derive --macros` and every \symformer{ID}{NUMBER}, in the paper and in
    the files that it includes by \input from its own folder. The exit status is 0 if all numbers are right, 1 if any
    differs, and 2 if any cannot be checked or there are none.
    """
    from ..documents.paper_audit import audit
    from ..language.errors import DocumentError

    with progress("marks") as told:
        found = audit(paper, configs=configs, told=told)
    if not found.checked and not found.unread:
        raise DocumentError(
            f"{paper} has nothing to check: it contains no macro of `symformer derive --macros` and no "
            r"\symformer{ID}{NUMBER}"
        )
    if as_json:
        print_json(found.to_json())
    else:
        for each in found.differs:
            print_line(str(each))
        for one in found.unread:
            print_error(str(one))
        said = f"{found.checked} checked in {len(found.files)} file{'s' * (len(found.files) > 1)}, "
        if found.unread:
            right = found.checked - len(found.differs)
            print_line(
                f"{said}{right} correct and {len(found.differs)} wrong; {len(found.unread)} could not be checked"
            )
        else:
            print_line(
                said
                + (
                    f"{len(found.differs)} {'differs' if len(found.differs) == 1 else 'differ'}"
                    if found.differs
                    else "all correct"
                )
            )
    return REFUSED if found.unread else DIFFERS if found.differs else 0
