"""The torch side: the only place that imports torch. Models are built on the meta device, where size costs nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import WitnessError
from ..model import Model

if TYPE_CHECKING:
    from .certify import Verdict


def verify(target: Model | str, seed: int | None = None, quantity: str = "params") -> Verdict:
    """Check a quantity of a model against its torch witness: a certificate, or what differs.

    Raises WitnessError where torch is missing or the target has no witness. ``seed`` repeats a run.
    """
    verdict: Verdict = _torch_side().verify(target, seed, quantity)
    return verdict


def provable(model: Model) -> list[str]:
    """The quantities that the torch side of a model can settle. Raises WitnessError where torch is missing."""
    found: list[str] = _torch_side().provable(model)
    return found


def _torch_side() -> Any:
    try:
        from . import certify
    except ModuleNotFoundError as error:
        raise WitnessError(
            f"{error.name} is not installed, and a check against torch needs it: pip install 'symformer[torch]'"
        ) from None
    return certify
