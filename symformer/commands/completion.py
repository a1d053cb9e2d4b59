"""``symformer completion``: the completion script for a shell."""

from __future__ import annotations

import click

from .base_command import Command
from .terminal import print_lines


@click.command("completion", cls=Command)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script for a shell.

    \b
    bash: eval "$(symformer completion bash)"
    zsh:  eval "$(symformer completion zsh)"
    fish: symformer completion fish | source
    """
    from click.shell_completion import get_completion_class

    made_by = get_completion_class(shell)
    if made_by is not None:
        print_lines(
            made_by(click.get_current_context().find_root().command, {}, "symformer", "_SYMFORMER_COMPLETE").source()
        )
