"""GLM-4."""

from __future__ import annotations

from dataclasses import dataclass

from .base_architecture import WitnessSpec
from .bases.glm_like import GLMLike
from .bases.sandwich import Sandwich


@dataclass(frozen=True, kw_only=True)
class GLM4(GLMLike, Sandwich):
    """GLM-4, Team GLM 2024 [glm2024], section 2, in its second form, with a norm before and after each sublayer.

    Queries, keys and values have biases, only a part of each head rotates, and one matrix computes the gate and up
    projections.

    >>> GLM4().params
    2*L*E*A*D + 2*L*E*G*D + 3*L*E*H + L*A*D + 2*L*G*D + 4*L*E + 2*V*E + E
    """

    title = "GLM-4"
    around_attention = ("input_layernorm", "post_self_attn_layernorm")
    around_mlp = ("post_attention_layernorm", "post_mlp_layernorm")
    witness = WitnessSpec(
        "Glm4",
        arguments={"pad_token_id": None},  # otherwise it must be a token
    )
