"""The torch side: the only place that imports torch. Models are built on the meta device, where size costs nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import WitnessError
from ..model import Model

if TYPE_CHECKING:
    from .certify import Verdict


def verify(target: Model | str, seed: int | None = None) -> Verdict:
    """Check a model, row by row, against its torch witness: a certificate, or the rows that differ.

    Raises WitnessError where torch is missing or the target has no witness. ``seed`` repeats a run.
    """
    try:
        from . import certify
    except ModuleNotFoundError as error:
        raise WitnessError(
            f"{error.name} is not installed, and a check against torch needs it: pip install 'symformer[torch]'"
        ) from None
    return certify.verify(target, seed)
