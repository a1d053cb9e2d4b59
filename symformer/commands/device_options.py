"""The memory of a device: the options of every command that compares a model with devices."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import click

from . import completion_values

_OPTIONS = (
    click.option("--memory", metavar="N", help="The memory of one device, such as 80GiB."),
    click.option(
        "--gpu",
        metavar="NAME",
        shell_complete=completion_values.device,
        help="The name of the device, instead of --memory, such as h100-80gb; see `symformer list --devices`.",
    ),
    click.option("--share", metavar="SHARE", help="The usable share of the memory, such as 90%."),
    click.option("--reserve", metavar="N", help="The memory to keep free within that share, such as 2GiB."),
)


def memory(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options --memory, --gpu, --share and --reserve to a command."""
    return reduce(lambda found, option: option(found), reversed(_OPTIONS), command)


def capacity(memory: str | None, gpu: str | None) -> int | str:
    """Return the memory of the device. Raises UsageError unless exactly one of the two options is given."""
    from ..devices import memory_of

    if memory is not None and gpu is not None:
        raise click.UsageError("--memory and --gpu cannot be combined; remove one of the two")
    if gpu is not None:
        return memory_of(gpu)
    if memory is None:
        raise click.UsageError(
            "give the memory of one device, as in --memory 80GiB, or its name, as in --gpu h100-80gb"
        )
    return memory
