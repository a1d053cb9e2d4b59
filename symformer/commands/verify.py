"""``symformer verify``: the proof against torch."""

from __future__ import annotations

import sys

import click

from . import arguments, completing
from .shell import Command
from .terminal import put_json, say, table


@click.command("verify", cls=Command)
@click.argument("targets", nargs=-1, shell_complete=completing.target)
@click.option("--all", "everything", is_flag=True, help="Every architecture, in every variant.")
@click.option(
    "--quantity",
    "-q",
    "quantities",
    multiple=True,
    metavar="Q",
    shell_complete=completing.quantity,
    help="What to prove; repeat for more. [default: all that torch settles]",
)
@click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), metavar="N", help="Repeat a run; otherwise the seed is drawn."
)
@click.option("--write", is_flag=True, help="Keep the certificates in the package (of a checkout).")
@arguments.option
@arguments.as_json
def command(
    targets: tuple[str, ...],
    everything: bool,
    quantities: tuple[str, ...],
    seed: int | None,
    write: bool,
    options: tuple[str, ...],
    as_json: bool,
) -> None:
    """Prove formulas against torch models.

    Parameters are compared row by row; the rows that differ are printed, and the exit status is then 1.
    """
    if bool(targets) == everything:
        raise click.UsageError("name one or more targets, or give --all and no target")
    import gc

    from .. import architectures
    from ..answers.targets import pairs, resolve
    from ..certificates import put_on_file
    from ..witness import provable, verify_all

    gc.enable()  # this one builds hundreds of models
    tasks, wholes = [], set()
    for name in architectures.names() if everything else targets:
        model, _ = resolve(name, pairs(options))
        whole = name in architectures.names() and not options
        for variant in architectures.variants(model) if whole else [model]:
            settled = provable(variant) or [("params", {})]
            named = {name for name, _ in settled}
            tasks += [(variant, *each) for each in settled if each[0] in quantities or not quantities]
            tasks += [(variant, name, {}) for name in quantities if name not in named]  # refused, with what is settled
        if whole and not quantities:
            wholes.add(model.id)
    verdicts = verify_all(tasks, seed)
    if write:
        for name in sorted(wholes):
            put_on_file(name, [verdict.certificate for verdict in verdicts if verdict.model.id == name])
    if as_json:
        put_json([verdict.to_json() for verdict in verdicts])
    else:
        rows = [verdict.row() for verdict in verdicts]
        table(
            ["target", "options", "quantity", "torch class", "points", "degree", "bound", "seed", ""], rows, "llllrrrrl"
        )
        for verdict in verdicts:
            for mismatch in verdict.mismatches:
                say(f"{verdict.model.target}: {mismatch}")
        exact = sum(verdict.exact for verdict in verdicts)
        libraries = {
            f"{key} {value}" for v in verdicts if v.certificate for key, value in v.certificate.versions.items()
        }
        say(f"\n{exact} of {len(verdicts)} exact" + (f", with {', '.join(sorted(libraries))}" if libraries else ""))
    if not all(verdict.exact for verdict in verdicts):
        sys.exit(1)
