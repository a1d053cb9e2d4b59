"""``symformer layout``: the ways to split a model across devices."""

from __future__ import annotations

import click

from . import arguments, device_options
from .base_command import Command
from .terminal import print_result, progress

NONE = 1  # the exit status if no layout fits


@click.command("layout", cls=Command)
@arguments.target
@click.option(
    "--gpus",
    "devices",
    default="8",
    show_default=True,
    metavar="N",
    help="The number of devices: 16, a list 8,16, or a range 1:64.",
)
@device_options.memory
@click.option("--train", is_flag=True, help="List layouts for training, with ZeRO stages and recomputation.")
@click.option(
    "--micro-batch",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="With --train: the number of sequences in a micro-batch.",
)
@click.option("--even", is_flag=True, help="Exclude layouts with stages of different sizes or copied key/value heads.")
@click.option(
    "--by",
    type=click.Choice(["memory", "sent", "flops"]),
    default="memory",
    show_default=True,
    help="Sort by the memory, the bytes sent or the FLOPs of the busiest device.",
)
@click.option("--limit", type=click.IntRange(1), default=10, show_default=True, help="The number of layouts to show.")
@arguments.sets
@arguments.option
@arguments.as_json
def command(
    target: str,
    devices: str,
    memory: str | None,
    gpu: str | None,
    share: str | None,
    reserve: str | None,
    train: bool,
    micro_batch: int,
    even: bool,
    by: str,
    limit: int,
    sets: tuple[str, ...],
    options: tuple[str, ...],
    as_json: bool,
) -> int:
    """List the ways to split a model across devices: tensor, pipeline, context, expert and data parallelism.

    The product of the degrees is the number of devices. Set B, the total number of sequences, and C, the cached tokens
    of each; with --train, set S, the sequence length, instead of C. If the stages cannot all have the same number of
    layers, the stages before the last one get the extra layers, as in vLLM. With more tensor-parallel ranks than
    key/value heads, each rank holds a copy of one head. If no layout fits, the exit status is 1.

    \b
    symformer layout llama-3.1-405b --gpus 16 --memory 80GiB --set B=32 --set C=8192
    symformer layout deepseek-v3 --gpus 8:64:8 --gpu h200 --set B=64 --set C=32768 --by sent
    symformer layout gpt2-large --gpus 8 --memory 16GB --train --set B=64 --set S=1024 --option implementation=megatron
    """
    from ..algebra.layouts import check_conventions, layouts
    from ..targets.resolution import pairs, resolve

    capacity = device_options.capacity(memory, gpu)
    given = pairs(options)
    check_conventions(given)
    model, conventions = resolve(target, given, sets, ["train-memory" if train else "inference-memory"])
    with progress("groups of layouts") as told:
        found = layouts(
            model,
            devices=devices,
            memory=capacity,
            train=train,
            micro_batch=micro_batch,
            even=even,
            by=by,
            share=share,
            reserve=reserve,
            limit=limit,
            progress=told,
            sizes=None,
            **conventions,
        )
    print_result(found, as_json)
    return 0 if found.fitting else NONE
