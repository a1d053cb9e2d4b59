"""The torch side: the only place that imports torch. Models are built on the meta device, where size costs nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

from ..errors import WitnessError
from ..model import Model

if TYPE_CHECKING:
    from .certify import Verdict

Task = tuple[Model, str, Mapping[str, str]]  # a model, a quantity, and the way it is counted

FEW = 20  # checks that are done before another process would have started


def verify(
    target: Model | str, seed: int | None = None, quantity: str = "params", way: Mapping[str, str] | None = None
) -> Verdict:
    """Check a quantity of a model against its torch witness: a certificate, or what differs.

    Raises WitnessError where torch is missing or the target has no witness. ``seed`` repeats a run; ``way`` is one of
    the further conventions that :func:`provable` names.
    """
    verdict: Verdict = _torch_side().verify(target, seed, quantity, way)
    return verdict


def verify_all(tasks: Sequence[Task], seed: int | None = None) -> list[Verdict]:
    """Many checks, in the order given; many at once where there are cores for it."""
    models, quantities = [model for model, _, _ in tasks], [quantity for _, quantity, _ in tasks]
    seeds, ways = [seed] * len(tasks), [way for _, _, way in tasks]
    workers = min(os.cpu_count() or 1, 8)
    if workers == 1 or len(tasks) < FEW:
        return list(map(verify, models, seeds, quantities, ways))
    # Each worker imports torch for itself: a process that has used torch is not safe to fork.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        return list(pool.map(verify, models, seeds, quantities, ways))


def provable(model: Model) -> list[tuple[str, Mapping[str, str]]]:
    """The quantities that the torch side of a model can settle, each with the conventions that it says beside torch's
    first ones. Raises WitnessError where torch is missing.
    """
    found: list[tuple[str, Mapping[str, str]]] = _torch_side().provable(model)
    return found


def _torch_side() -> Any:
    try:
        from . import certify
    except ModuleNotFoundError as error:
        raise WitnessError(
            f"{error.name} is not installed, and a check against torch needs it: pip install 'symformer[torch]'"
        ) from None
    return certify
