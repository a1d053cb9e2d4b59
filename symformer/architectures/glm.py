"""GLM-4 9B."""

from __future__ import annotations

from dataclasses import dataclass

from .base_architecture import WitnessSpec
from .bases.glm_like import GLMLike


@dataclass(frozen=True, kw_only=True)
class GLM(GLMLike):
    """GLM-4 9B, Team GLM 2024 [glm2024], section 2: biases of queries, keys and values, partly rotary heads, and one
    matrix for the gate and up projections.

    >>> GLM().params
    2*L*E*A*D + 2*L*E*G*D + 3*L*E*H + L*A*D + 2*L*G*D + 2*L*E + 2*V*E + E
    """

    title = "GLM-4 9B"
    witness = WitnessSpec(
        "Glm",
        arguments={"pad_token_id": None},  # otherwise it must be a token
    )
