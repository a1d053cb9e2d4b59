"""The command line: one file per command, imported on first use; a command imports its dependencies when it runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

import click

from .. import __version__
from . import completion_values  # noqa: F401 (it tells click how bash is completed)
from .base_command import CommandGroup

# In the order in which users typically need them.
COMMANDS = (
    *(
        "list",
        "show",
        "derive",
        "tree",
        "plot",
        "verify",
        "trace",
        "census",
        "compare",
        "table",
        "explain",
        "check",
        "solve",
        "optimum",
        "fit",
        "layout",
        "sweep",
        "sensitivity",
        "catalogue",
        "cite",
        "audit",
        "papers",
        "gallery",
        "new",
        "site",
    ),
    "completion",
)


class Commands(Mapping[str, click.Command]):
    """The commands by name; the name is also the file name."""

    def __getitem__(self, name: str) -> click.Command:
        if name not in COMMANDS:
            raise KeyError(name)
        found: click.Command = import_module(f".{name}", __package__).command
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


@click.group(
    cls=CommandGroup,
    commands=Commands(),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="%(prog)s %(version)s")
def cli() -> None:
    """Derive exact formulas for transformers, print them, and verify them against torch.

    A TARGET is an architecture (gpt2), a preset (gpt2-xl), a config.json (its path, its folder, or - for standard
    input), a model id on the Hub (openai-community/gpt2), a component (component:mlp), a model type of transformers
    (hf:gpt2), or your own class (FILE.py:CLASS). For a model without a built-in architecture, symformer uses the
    catalogue, or else traces its code, which requires torch and transformers and takes a few seconds. The output names
    the source.

    \b
    symformer show gpt2-xl             print the formula, its value and a breakdown
    symformer derive gpt2 -o gpt2.pdf  write the derivation as a document
    symformer tree llama-2-7b          print the module tree with each module's share
    symformer verify gpt2              check the formulas against the torch model
    """


def main() -> None:
    """Run the ``symformer`` command."""
    import gc

    gc.disable()  # commands are short, and collecting during imports takes a tenth of their time
    cli(prog_name="symformer")
