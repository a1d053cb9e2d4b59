"""Gemma 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..components import RMSNorm
from ..language.symbols import A, D, E, G, H, L, V
from .base_architecture import (
    HEADS_DIVIDE,
    Activation,
    BoolField,
    Fields,
    Function,
    Variants,
    WitnessSpec,
    option,
    usual,
)
from .bases.llama_like import LlamaLike


@dataclass(frozen=True, kw_only=True)
class Gemma(LlamaLike):
    """Gemma, Gemma Team 2024 [gemma2024b], section 2: heads wider than E/A, GeGLU and tied embeddings.

    Each norm stores its scale minus one.

    >>> Gemma().params
    2*L*E*A*D + 2*L*E*G*D + 3*L*E*H + 2*L*E + V*E + E
    """

    title = "Gemma"
    norm = RMSNorm(offset=True)
    rooted = True
    config = Fields(
        usual({V: 256000, E: 3072, H: 24576, L: 28, A: 16, G: 16, D: 256}),
        fixed={"use_bidirectional_attention": (False, None)},
        inert=("hidden_activation",),  # the class reads the function from 'hidden_act'
    )
    witness = WitnessSpec("Gemma", conditions=HEADS_DIVIDE)
    variants: ClassVar[Variants] = ({}, {"tied": False}, {"head": "none"})

    tied: bool = option(BoolField("tie_word_embeddings", True))
    # the class reads gelu as the tanh approximation, its name in early configs
    activation: Activation = option(Function("hidden_act", "gelu_pytorch_tanh", same={"gelu": "gelu_pytorch_tanh"}))
