"""``symformer show``: a formula, its value and its breakdown."""

from __future__ import annotations

import click

from ..views.notations import NOTATIONS
from . import arguments, completion_values
from .base_command import Command
from .terminal import print_blocks, print_error, print_json, print_lines


@click.command("show", cls=Command)
@arguments.target
@arguments.quantity
@arguments.sets
@arguments.option
@click.option(
    "--part",
    metavar="PATH",
    shell_complete=completion_values.part,
    help="Show the formula of one copy of a single part, such as h.attn, or of a tower: vision, projector or language.",
)
@click.option(
    "--format",
    "notation",
    type=click.Choice(list(NOTATIONS)),
    help="Print only the equation, on one line, ready to paste.",
)
@click.option(
    "--conventions", "every", is_flag=True, help="Compare every value of each convention and list who uses it."
)
@click.option(
    "--device",
    metavar="DEVICE",
    shell_complete=completion_values.device,
    help="The device for a time bound, a utilization or a memory quantity: a name, such as h100-80gb or h100-80gb:fp8 "
    "(see `symformer list --devices`); except for memory, also a bandwidth and a peak, such as 3.35TB/s,989TFLOP/s.",
)
@click.option(
    "--price",
    "per_hour",
    metavar="PRICE",
    help="The price of the device per hour, for a lower bound on the price of a million tokens.",
)
@arguments.forms
@click.option("--open", "opened", is_flag=True, help="Open the question in the playground, in a browser.")
@arguments.as_json
def command(
    target: str,
    quantity: str,
    sets: tuple[str, ...],
    options: tuple[str, ...],
    part: str | None,
    notation: str | None,
    every: bool,
    device: str | None,
    per_hour: str | None,
    forms: tuple[str, ...],
    opened: bool,
    as_json: bool,
) -> None:
    """Show a formula, its value and its breakdown.

    `symformer --help` lists the forms of a TARGET. If TARGET is a checkpoint (a .safetensors or .gguf file, a
    model.safetensors.index.json, or a folder with weights but no config.json), show lists its tensors.

    --open uses the published site. To use a copy on this computer, run `symformer site -o site --serve` and set
    SYMFORMER_SITE=http://127.0.0.1:8000/.
    """
    from ..checkpoints.checkpoint_files import checkpoint_in, is_checkpoint
    from ..formulas import ranks
    from ..language.target import TargetKind, parse
    from ..output.blocks import Code, plain
    from ..views.cache_parts import cache_json
    from ..views.device_bounds import DeviceMemory, bound_json, bound_lines, price, price_per_million
    from ..views.equations import equation, form_equation
    from ..views.formula_blocks import formula_blocks
    from ..views.part_copies import part_json
    from ..views.provenance_lines import provenance_json
    from ..views.purpose_totals import purposes_json
    from ..views.summary import show_json
    from ..views.tower_totals import towers_json

    if notation is not None and (as_json or every):
        other = "--json" if as_json else "--conventions"
        raise click.UsageError(
            f"--format {notation} prints only the equation and cannot be combined with {other}; remove one of the two"
        )
    if opened:
        if part is not None or notation or every or device or per_hour or forms or as_json:
            raise click.UsageError("--open can be combined only with -q, --set and --option; remove the other options")
        _open(target, quantity, sets, options)
        return
    if part == "":
        raise click.UsageError("the name of the part is empty; give one, such as --part h.attn, or remove --part")
    if is_checkpoint(target):
        if quantity != "params" or sets or options or part or notation or every or device or per_hour or forms:
            raise click.UsageError(
                f"{target} is a checkpoint, for which show accepts only --json; remove the other options"
            )
        _checkpoint(target, as_json)
        return
    if every:
        if part is not None:
            raise click.UsageError(
                "--conventions applies to the whole model and cannot be combined with --part; remove one of the two"
            )
        if device is not None or per_hour is not None or forms:
            name = "--device" if device is not None else "--price" if per_hour is not None else "--rewrite"
            raise click.UsageError(f"--conventions cannot be combined with {name}; remove one of the two")
        _conventions(target, quantity, sets, options, as_json)
        return
    model, whole, chosen = arguments.formula_on_device(target, quantity, sets, options, device)
    formula = whole if part is None else whole.part(part)
    others = [formula.rewritten(form) for form in forms]
    if notation is not None:
        for line in [form_equation(each, notation) for each in others] or [equation(formula, notation)]:
            print_lines(line + "\n")
        for stated in ranks.stated(formula.ranks, model.known):  # on standard error: the equation itself is pasted
            print_error(plain(stated))
        return
    cost = None if per_hour is None else price(per_hour)
    if cost is not None:
        price_per_million(model, formula, cost)
    if as_json:
        bound = bound_json(model, formula, cost)
        where = {} if chosen is None else {"device": chosen.to_json()}
        place = {} if part is None else {"part": part_json(model, formula)}
        totals = {**purposes_json(model, formula), **towers_json(model, formula), **cache_json(model, formula)}
        facts = {**show_json(model, formula), **bound, **where, **totals, **place}
        if others:
            facts["forms"] = [each.to_json() for each in others]
        print_json({**facts, "provenance": provenance_json(model, whole)})
        return
    lines = [*bound_lines(model, formula, cost), *([chosen.line(formula)] if chosen is not None else [])]
    if parse(target).kind is TargetKind.CONFIG and (stored := checkpoint_in(target)):
        lines.append([Code(f"symformer show {stored}"), " lists the stored tensors"])
    memory = chosen.memory if isinstance(chosen, DeviceMemory) else None
    print_blocks(formula_blocks(model, whole, formula, lines, memory, others))


def _open(target: str, quantity: str, sets: tuple[str, ...], options: tuple[str, ...]) -> None:
    """Open a question in the playground, or print its address where no browser can be opened."""
    import webbrowser

    from ..site.permanent_link import permanent_link

    link = permanent_link(target, quantity, sets, options)
    if not webbrowser.open(link):
        print_error("no browser can be opened here; open this address instead:")
    print_lines(link + "\n")


def _conventions(target: str, quantity: str, sets: tuple[str, ...], options: tuple[str, ...], as_json: bool) -> None:
    from ..quantities import quantity as find_quantity
    from ..targets.resolution import pairs, resolve
    from ..views.convention_table import alternatives, convention_blocks

    model, given = resolve(target, pairs(options), sets, [quantity])
    found = alternatives(model, quantity, given)
    model.check_run_sizes(variant.formula for variant in found if variant.formula is not None)
    if as_json:
        facts = [variant.to_json() for variant in found]
        unit = find_quantity(quantity).measure.unit
        print_json({"target": model.target, "quantity": quantity, "unit": unit, "variants": facts})
        return
    print_blocks(convention_blocks(model, quantity, found))


def _checkpoint(path: str, as_json: bool) -> None:
    """List the tensors of a checkpoint, with the model of the config.json next to it."""
    import os

    from ..checkpoints.checkpoint_contents import CheckpointContents
    from ..checkpoints.checkpoint_files import open_checkpoint
    from ..language.errors import SymformerError
    from ..targets.resolution import resolve

    checkpoint, model = open_checkpoint(path), None
    config = os.path.join(os.path.dirname(path) or os.curdir, "config.json")
    if os.path.isfile(config):
        try:
            model = resolve(config, trace=False)[0]
            model.params.value()
        except SymformerError:  # a config of another model, or one that is not supported
            model = None
    found = CheckpointContents(checkpoint, model)
    if as_json:
        print_json(found.to_json())
    else:
        print_blocks(found.to_blocks())
