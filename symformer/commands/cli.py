"""The command line: one command a file, imported when it is asked for, and each imports what it needs when it runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

import click

from .. import __version__
from . import completing  # noqa: F401 (it tells click how bash is completed)
from .shell import Program

# In the order in which one comes to need them.
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
        "explain",
        "check",
        "solve",
        "sweep",
        "sensitivity",
        "catalogue",
        "cite",
        "audit",
        "papers",
        "gallery",
    ),
    "completion",
)


class Commands(Mapping[str, click.Command]):
    """Every command by its name, which is the name of its file."""

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
    cls=Program,
    commands=Commands(),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="%(prog)s %(version)s")
def cli() -> None:
    """Transformer architectures in closed form: formulas that are derived, printed and proved against torch.

    A TARGET is an architecture (gpt2), a preset (gpt2-xl), a config.json (its path, its folder, - for standard input),
    the id of a model on the Hub (openai-community/gpt2), a part (component:mlp), or a model type of transformers
    (hf:gpt2). What is not composed here is answered from the catalogue, or read off its code, which takes torch,
    transformers and some seconds; a line says which of them answered.

    \b
    symformer show gpt2-xl             the formula, its value, row by row
    symformer derive gpt2 -o gpt2.pdf  the derivation, to staple to a paper
    symformer tree llama-2-7b          the modules, each with its share
    symformer verify gpt2              the proof against the real torch model
    """


def main() -> None:
    """The entry point of the ``symformer`` command."""
    import gc

    gc.disable()  # a command is over before there is garbage, and collecting while it imports is a tenth of its time
    cli(prog_name="symformer")
