"""``symformer trace``: derive the formula of a torch model from its code."""

from __future__ import annotations

import click

from . import arguments, completion_values
from .base_command import Command
from .terminal import print_blocks, print_json


@click.command("trace", cls=Command)
@click.argument("target", shell_complete=completion_values.file)
@click.option("--size", "sizes", multiple=True, metavar="NAME=NUMBER", help="A factory argument and its initial value.")
@click.option(
    "--inputs",
    default="",
    metavar="MODULE:FUNCTION",
    help="A function that builds the inputs of a factory's model from sizes.",
)
@click.option(
    "--head", default="", metavar="HEAD", help="The model head: causal, masked, seq2seq, image, image-text or base."
)
@arguments.quantity
@click.option(
    "--at",
    "configs",
    multiple=True,
    metavar="CONFIG.json",
    shell_complete=completion_values.file,
    help="Evaluate the formula at a config; repeatable.",
)
@click.option("--set", "sets", multiple=True, metavar="NAME=NUMBER", help="Set a size of the run for --at: B, S or C.")
@arguments.as_json
def command(
    target: str,
    sizes: tuple[str, ...],
    inputs: str,
    head: str,
    quantity: str,
    configs: tuple[str, ...],
    sets: tuple[str, ...],
    as_json: bool,
) -> None:
    """Derive the formula of a torch model from its code.

    TARGET is hf:MODEL_TYPE, a config.json (its path, its folder, or a model id on the Hub), or a class or a function
    that builds a module (FILE.py:NAME or package.module:NAME). The command runs the code that TARGET names. It checks
    the formula row by row at new random sizes, and FLOPs also against torch's own counter. If a check fails, it prints
    no formula.

    The quantities params, flops, train-flops, activations and kv-cache are measured in torch: stored parameters, matrix
    products, tensors saved for the backward pass, and cached tensors. If every row is recognized as an operation,
    active-params, prefill-flops, decode-flops, generation-flops and inference-memory are available too.
    """
    from ..language.arithmetic import size
    from ..language.errors import OptionError, SizeError, UnknownNameError
    from ..language.notation.text import amount
    from ..language.sizes import whole
    from ..language.target import TargetKind, parse
    from ..models.provenance import fixed_note
    from ..output.blocks import Heading, Paragraph, Table
    from ..targets.resolution import pairs
    from ..views.provenance_lines import config_agreement
    from ..views.summary import config_commit
    from ..witness import ignored_at, values_at
    from ..witness import trace as trace_model

    def number(name: str, value: str) -> int:
        try:
            return whole(name, size(value))
        except UnknownNameError:
            raise SizeError(f"{name}={value} is not a number; a size is a positive integer") from None

    kind = parse(target).kind
    for option, given in (("--size", sizes), ("--inputs", (inputs,) if inputs else ())):
        if given and kind in (TargetKind.HF, TargetKind.CONFIG, TargetKind.HUB):
            raise OptionError(
                f"{option} {given[0]} applies to factories only, but {target} takes its sizes from its config"
            )
    if sets and not configs:
        raise OptionError(f"--set {sets[0]} requires a config to evaluate the formula at; name one with --at")
    start, run = ({name: number(name, value) for name, value in pairs(given).items()} for given in (sizes, sets))
    model = trace_model(target, start, head, inputs)
    found = model.for_quantity(quantity)
    formula = found.model.formula(quantity)
    values = [values_at(model, path, quantity, run) for path in configs]
    reading = found.model.provenance.reading
    if as_json:
        print_json(
            {
                "target": target,
                **config_commit(model.model),
                "quantized": model.model.provenance.quantized or None,
                "quantity": quantity,
                "conventions": dict(formula.conventions),
                "formula": formula.code(),
                "symbols": dict(found.symbols),
                "tied": {name: str(tie) for name, tie in found.ties.items()},
                "pinned": [
                    {"name": each.name, "value": each.value, "why": each.why, "line": each.line or None}
                    for each in found.pinned
                ],
                "conditions": found.conditions,
                "ignored": list(model.ignored),
                "unread": list(reading.unread) if reading else [],
                "report": found.report,
                "values": values,
                "checked": len(found.checked),
                "seconds": round(found.seconds, 3),
            }
        )
        return
    provenance = model.model.provenance
    above = [f"from the config.json of {target} on the Hub, {provenance.read_at}"] * bool(provenance.read_at)
    own = config_agreement(reading) if reading else ""
    checked = f"exact, row by row, at {len(found.checked)} new random configs{own} ({found.builds} builds)"
    below = [f"{name} = {other}: the trace is valid only if this holds" for name, other in found.ties.items()]
    below += [f"{each.name} {fixed_note(each)}" + (f" ({each.line})" if each.line else "") for each in found.pinned]
    below += [f"valid if {condition}" for condition in found.conditions]
    below += [*found.report, *(reading.input_notes if reading else ())]
    for path, ignored in ((target, model.ignored), *((path, ignored_at(model, path)) for path in configs)):
        if ignored:
            stores = getattr(model.source, "name", target)
            below.append(f"{', '.join(ignored)} in {path}: no effect on the weights of {stores}")
    below += [f"{path}: {amount(value, formula.measure.unit)}" for path, value in zip(configs, values, strict=True)]
    print_blocks(
        [
            Heading(1, [f"{found.model.title}: {formula.measure.title}"]),
            formula.equation(),
            *(Paragraph([line]) for line in (*above, *provenance.notes, checked)),
            Table.of(["symbol", "field"], list(found.symbols.items()), "ll"),
            *(Paragraph([line]) for line in below),
        ]
    )
