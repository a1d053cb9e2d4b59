"""``symformer verify``: check formulas against torch."""

from __future__ import annotations

import sys

import click

from . import arguments, completion_values
from .base_command import Command
from .terminal import print_blocks, print_json


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
@click.option(
    "--checkpoint",
    type=click.Path(),
    metavar="PATH",
    help="Compare the weights with a checkpoint instead of torch: a .safetensors or .gguf file, a "
    "model.safetensors.index.json, or a folder. Only headers are read.",
)
@click.option("--write", is_flag=True, help="Store the certificates in the package; requires a source checkout.")
@arguments.option
@arguments.as_json
def command(
    targets: tuple[str, ...],
    everything: bool,
    quantities: tuple[str, ...],
    seed: int | None,
    checkpoint: str | None,
    write: bool,
    options: tuple[str, ...],
    as_json: bool,
) -> None:
    """Verify formulas against torch models, or against a checkpoint.

    Parameters are compared row by row. If rows differ, they are printed and the exit status is 1. With --checkpoint,
    verify compares names, shapes, types and bytes with weight-memory and does not need torch.

    \b
    symformer verify gpt2
    symformer verify llama-3.1-8b --checkpoint Llama-3.1-8B-Q4_K_M.gguf
    """
    if checkpoint is not None:
        if len(targets) != 1 or everything or quantities or write or seed is not None:
            raise click.UsageError("--checkpoint needs exactly one target and no --all, --quantity, --seed or --write")
        sys.exit(_compare(targets[0], checkpoint, options, as_json))
    if bool(targets) == everything:
        raise click.UsageError("give one or more targets, or --all without a target")
    if write and (quantities or options):
        raise click.UsageError("--write stores all certificates of an architecture; remove --quantity and --option")
    import gc

    from .. import architectures
    from ..certificates import write_certificates
    from ..output.blocks import Paragraph, Table
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
        head = ["target", "options", "quantity", "torch class", "points", "degree", "bound", "seed", ""]
        differences = [f"{each.model.target}: {row}" for each in verdicts for row in each.mismatches]
        versions = [each.certificate.versions.items() for each in verdicts if each.certificate]
        libraries = sorted({f"{name} {version}" for items in versions for name, version in items})
        total = f"{sum(each.exact for each in verdicts)} of {len(verdicts)} exact"
        total += f", with {', '.join(libraries)}" if libraries else ""
        table = Table.of(head, [each.row() for each in verdicts], "llllrrrrl")
        print_blocks([table, *(Paragraph([line]) for line in (*differences, total))])
    if write:
        for name in sorted(wholes):
            write_certificates(name, [verdict.certificate for verdict in verdicts if verdict.model.id == name])
    if not all(verdict.exact for verdict in verdicts):
        sys.exit(1)


def _compare(target: str, path: str, options: tuple[str, ...], as_json: bool) -> int:
    """Print the comparison of a target with a checkpoint, and return the exit status."""
    from ..checkpoints.checkpoint_comparison import compare_checkpoint
    from ..checkpoints.checkpoint_files import open_checkpoint
    from ..targets.resolution import pairs, resolve

    checkpoint = open_checkpoint(path)
    model, conventions = resolve(target, pairs(options), (), ["weight-memory"])
    if other := conventions.keys() - {"weights"}:
        raise click.UsageError(f"--checkpoint cannot be combined with --option {min(other)}")
    found = compare_checkpoint(model, checkpoint, conventions.get("weights", ""))
    if as_json:
        print_json(found.to_json())
    else:
        print_blocks(found.to_blocks())
    return 0 if found.agrees else 1
