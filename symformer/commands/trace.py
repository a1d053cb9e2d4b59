"""``symformer trace``: a formula of a torch model, from its own code."""

from __future__ import annotations

import click

from . import arguments, completing
from .shell import Command
from .terminal import put_json, say, spell, table


@click.command("trace", cls=Command)
@click.argument("target", shell_complete=completing.file)
@click.option("--size", "sizes", multiple=True, metavar="NAME=NUMBER", help="A factory's argument and where it starts.")
@click.option(
    "--inputs", default="", metavar="MODULE:FUNCTION", help="What a factory's model is called with, by sizes."
)
@click.option("--head", default="", metavar="HEAD", help="causal, masked, seq2seq, image, image-text or base.")
@arguments.quantity
@click.option(
    "--at",
    "configs",
    multiple=True,
    metavar="CONFIG.json",
    shell_complete=completing.file,
    help="A config to evaluate the formula at.",
)
@click.option(
    "--set", "sets", multiple=True, metavar="NAME=NUMBER", help="A size of the run at these configs: B, S, C."
)
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
    """Derive a formula of a torch model from its own code.

    TARGET is hf:MODEL_TYPE, a config.json (its path, its folder, or the id of a model on the Hub), or
    package.module:factory. It runs the code it names. The formula is checked row by row at fresh random sizes, FLOPs
    against torch's own counter too; without that nothing is shown.

    params, flops, train-flops, activations and kv-cache are counted as torch stores, multiplies and keeps. Where the
    rows are recognised as operations they also answer active-params, prefill-flops, decode-flops, generation-flops and
    inference-memory.
    """
    from ..answers.provenance import at_config
    from ..answers.summary import amount, read_at
    from ..answers.targets import pairs
    from ..language.arithmetic import size
    from ..language.errors import OptionError
    from ..language.sizes import whole
    from ..language.target import Kind, parse
    from ..witness import ignored_at, values_at
    from ..witness import trace as trace_model

    kind = parse(target).kind
    for option, given in (("--size", sizes), ("--inputs", (inputs,) if inputs else ())):
        if given and kind in (Kind.HF, Kind.CONFIG, Kind.HUB):
            raise OptionError(f"{option} {given[0]} is a factory's, and {target} has its sizes in its config")
    if sets and not configs:
        raise OptionError(f"--set {sets[0]} is for the configs to evaluate at; name one with --at")
    start, run = ({name: whole(name, size(value)) for name, value in pairs(given).items()} for given in (sizes, sets))
    model = trace_model(target, start, head, inputs)
    found = model.of(quantity)
    formula = found.model.formula(quantity)
    values = [values_at(model, path, quantity, run) for path in configs]
    reading = found.model.provenance.reading
    if as_json:
        put_json(
            {
                "target": target,
                **read_at(model.model),
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
    say(f"{found.model.title}: {formula.measure.title}")
    say(f"{formula.measure.letter} = {spell(formula.written)}")
    if model.model.provenance.read_at:
        say(f"from the config.json of {target} on the Hub, {model.model.provenance.read_at}")
    for line in model.model.provenance.notes:
        say(line)
    own = at_config(reading) if reading else ""
    say(f"exact, row by row, at {len(found.checked)} fresh random configs{own} ({found.builds} builds)\n")
    table(["symbol", "field"], [[name, place] for name, place in found.symbols.items()], "ll")
    for name, other in found.ties.items():
        say(f"{name} is {other}: the trace holds with no other")
    for each in found.pinned:
        say(f"{each.name} is kept at {each.value:,}: {each.why}" + (f" ({each.line})" if each.line else ""))
    for condition in found.conditions:
        say(f"it holds where {condition}")
    for line in found.report:
        say(line)
    for line in reading.beside if reading else ():
        say(line)
    for path, ignored in ((target, model.ignored), *((path, ignored_at(model, path)) for path in configs)):
        if ignored:
            stores = getattr(model.source, "name", target)
            say(f"{', '.join(ignored)} in {path}: nothing that {stores} stores depends on it")
    for path, value in zip(configs, values, strict=True):
        say(f"{path}: {amount(value, formula.measure.unit)}")
