"""``symformer verify``: check formulas against torch."""

from __future__ import annotations

import sys

import click

from . import arguments, completion_values
from .base_command import Command
from .terminal import print_json, print_line, table


@click.command("verify", cls=Command)
@click.argument("targets", nargs=-1, shell_complete=completion_values.target)
@click.option("--all", "everything", is_flag=True, help="Verify every architecture in every variant.")
@click.option(
    "--quantity",
    "-q",
    "quantities",
    multiple=True,
    metavar="Q",
    shell_complete=completion_values.quantity,
    help="The quantity to verify; repeatable. [default: everything torch can check]",
)
@click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), metavar="N", help="The random seed, to repeat a run. [default: random]"
)
@click.option("--write", is_flag=True, help="Store the certificates in the package; requires a source checkout.")
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
    """Verify formulas against torch models.

    Parameters are compared row by row. If rows differ, they are printed and the exit status is 1.
    """
    if bool(targets) == everything:
        raise click.UsageError("give one or more targets, or --all without a target")
    if write and (quantities or options):
        raise click.UsageError("--write stores all certificates of an architecture; remove --quantity and --option")
    import gc

    from .. import architectures
    from ..certificates import write_certificates
    from ..targets.resolution import pairs, resolve
    from ..witness import provable, verify_all

    gc.enable()  # this command builds hundreds of models
    tasks, wholes = [], set()
    for name in architectures.names() if everything else targets:
        model, _ = resolve(name, pairs(options))
        whole = name in architectures.names() and not options
        for variant in architectures.variants(model) if whole else [model]:
            settled = provable(variant) or [("params", {})]
            named = {name for name, _ in settled}
            tasks += [(variant, *each) for each in settled if each[0] in quantities or not quantities]
            # a quantity that torch cannot check is rejected later
            tasks += [(variant, name, {}) for name in quantities if name not in named]
        if whole and not quantities:
            wholes.add(model.id)
    verdicts = verify_all(tasks, seed)
    if as_json:
        print_json([verdict.to_json() for verdict in verdicts])
    else:
        rows = [verdict.row() for verdict in verdicts]
        table(
            ["target", "options", "quantity", "torch class", "points", "degree", "bound", "seed", ""], rows, "llllrrrrl"
        )
        for verdict in verdicts:
            for mismatch in verdict.mismatches:
                print_line(f"{verdict.model.target}: {mismatch}")
        exact = sum(verdict.exact for verdict in verdicts)
        libraries = {
            f"{key} {value}" for v in verdicts if v.certificate for key, value in v.certificate.versions.items()
        }
        print_line(
            f"\n{exact} of {len(verdicts)} exact" + (f", with {', '.join(sorted(libraries))}" if libraries else "")
        )
    if write:
        for name in sorted(wholes):
            write_certificates(name, [verdict.certificate for verdict in verdicts if verdict.model.id == name])
    if not all(verdict.exact for verdict in verdicts):
        sys.exit(1)
