"""GPT-J."""

from __future__ import annotations

from dataclasses import dataclass

from .base_architecture import OWN_ATTENTION, WitnessSpec
from .bases.gptj_like import GPTJLike


@dataclass(frozen=True, kw_only=True)
class GPTJ(GPTJLike):
    """GPT-J, Wang and Komatsuzaki 2021 [wang2021]: parallel attention and MLP with one norm for both.

    Only a part of each head rotates. The MLP and the head have biases, attention has none.

    >>> GPTJ().params
    12*L*E**2 + 7*L*E + 2*V*E + V + 2*E
    """

    title = "GPT-J"
    witness = WitnessSpec(
        "GPTJ", functions=("embed_positions",), prefix="transformer.", activation_refusal=OWN_ATTENTION
    )
