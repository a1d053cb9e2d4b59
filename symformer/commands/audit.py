"""``symformer audit``: the macros and numbers of a paper, held to what the formulas give."""

from __future__ import annotations

import click

from . import arguments, completing
from .shell import REFUSED, Command
from .terminal import put_json, say, tell

DIFFERS = 1  # the status of an audit that found a difference


@click.command("audit", cls=Command)
@click.argument("paper", metavar="PAPER.tex", shell_complete=completing.file)
@arguments.as_json
def command(paper: str, as_json: bool) -> int:
    r"""Hold the numbers of a paper to what the formulas give today.

    These are the macros of `symformer derive --macros`, and every \symformer{ID}{NUMBER}, in the paper and in what it
    has by \input from its own folder. The status is 0 where all are right, 1 where one differs, 2 where one could not
    be read or there is none.
    """
    from ..documents.audit import audit
    from ..language.errors import DocumentError

    found = audit(paper)
    if not found.checked and not found.unread:
        raise DocumentError(
            f"{paper} has nothing to check: no macro that symformer derive --macros writes, and no "
            r"\symformer{ID}{NUMBER}"
        )
    if as_json:
        put_json(found.to_json())
    else:
        for each in found.differs:
            say(str(each))
        for one in found.unread:
            tell(str(one))
        said = f"{found.checked} checked in {len(found.files)} file{'s' * (len(found.files) > 1)}, "
        say(
            said
            + (f"{len(found.differs)} differ" if found.differs else "all of them right" if found.checked else "none")
        )
    return REFUSED if found.unread else DIFFERS if found.differs else 0
