"""``symformer new``: the skeleton of a new architecture, and the list of missing parts."""

from __future__ import annotations

import sys

import click

from ..language.errors import DocumentError, TargetError
from . import completion_values
from .base_command import Command
from .terminal import print_error, print_line

LIKE = "llama"


@click.command("new", cls=Command)
@click.argument("kind", type=click.Choice(["architecture"]))
@click.argument("name", shell_complete=completion_values.target)
@click.option(
    "--like",
    metavar="ARCHITECTURE",
    shell_complete=completion_values.target,
    help=f"An architecture with the base classes and the sizes of the new one. [default: {LIKE}]",
)
@click.option("--check", is_flag=True, help="Write nothing; exit with status 1 if something is missing.")
def command(kind: str, name: str, like: str | None, check: bool) -> None:
    """Add an architecture to a checkout of the repository.

    Write a skeleton of its class to symformer/architectures and of its test case to tests/models, and list what is
    missing. Existing files are not changed. Run the command again after each step, until symformer verify NAME passes.

    \b
    symformer new architecture my-model --like mistral
    symformer new architecture my-model --check
    """
    from ..output.files import write_all
    from ..views.new_architecture import ROOT, check_checkout, check_name, missing, paths, skeleton

    check_checkout()
    check_name(name)
    present = [path for path in paths(name) if (ROOT / path).exists()]
    if check and like:
        raise click.UsageError("--like and --check exclude each other; --check writes nothing")
    if check and not present:
        raise TargetError(f"there is no architecture {name}; to add it: symformer new architecture {name}")
    if like and present:
        raise DocumentError(f"{present[0]} already exists; run the command without --like to list the missing parts")
    if not check and len(present) < 2:
        made = {path: text for path, text in skeleton(name, like or LIKE).items() if path not in present}
        write_all(str(ROOT), {path: text.encode() for path, text in made.items()})
        for path in made:
            print_error(f"wrote {path}")
    found = missing(name)
    if not found:
        print_line(f"{name}: nothing is missing")
        return
    print_line(f"{name}: {len(found)} missing")
    for sentence in found:
        print_line(f"- {sentence}")
    if check:
        sys.exit(1)
