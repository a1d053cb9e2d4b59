"""Keys and values that are recomputed from cached latents, detected by decoding one new token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import prod

from sympy import Expr

from ...catalogue.measured_model import MeasuredModel
from ...language.errors import WitnessError
from ...language.symbols import B, C, S
from ...ledger.facts import ATTENDING, ONE, Entry, OperationKind, Tensor
from ..dispatch_recorders import Products
from ..error_messages import sentence
from ..interpolation import Point
from ..measured_points import session
from .observations import Numbers, Row, number, star
from .observed_run import Calls


def decode_products(calls: Calls, point: Point) -> Products:
    """Return the products of one new token after cached ones. Raises WitnessError."""
    assert calls.cached is not None
    try:
        at = session(calls.build, point)
        before = at.run(partial(calls.cached, point=point))
        seen = Products(at.model())
        at.run(partial(calls.cached, point=point, after=before), seen)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # any error of the traced code
        raise WitnessError(f"decoding after a prompt failed: {sentence(error)}") from None
    return seen


def from_latents(rows: Sequence[Row], seen: Products, numbers: Numbers, cached: MeasuredModel) -> tuple[Row, ...]:
    """Mark the linear layers that ran over the whole cache, and the attention in their module.

    The latents of this attention are the cached tensors of each layer.
    """
    ran: dict[str, set[int]] = {}
    for path, sites in seen.forward.times.items():
        sizes = {prod(factors) for each in sites.values() for factors in each}
        ran.setdefault(star(path.rpartition(".")[0]), set()).update(sizes)
    linear = [entry for _, entry in rows if entry.kind is OperationKind.LINEAR]
    again = {entry.path for entry in linear if _whole(entry, numbers) in ran.get(entry.path, ())}
    around = {path.rpartition(".")[0] for path in again}

    def made(counts: tuple[Expr, ...], entry: Entry) -> Entry:
        module = entry.path.rpartition(".")[0]
        if entry.path in again:
            return replace(entry, recalled=True)
        if entry.kind not in ATTENDING or module not in around:
            return entry
        held = [(path, shape) for (path, shape), each in cached.counts.items() if each[-1] == counts[-1]]
        latent = tuple(
            Tensor(f"{module}.{path.rpartition('.')[2]}", tuple(dim.xreplace({C: S}) for dim in shape), grad=ONE)
            for path, shape in held
        )
        return replace(entry, latent=latent)

    return tuple((counts, made(counts, entry)) for counts, entry in rows)


def _whole(entry: Entry, numbers: Numbers) -> int | None:
    """Return the size of a linear layer's product over all cached tokens and the new one."""
    return number(B * (C + 1) * entry.inputs[0].width * entry.output.width, numbers)
