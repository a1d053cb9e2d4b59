"""SmolLM3."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..language.symbols import A, D, E, G, H, L_nope, L_rope, V
from .base_architecture import HEAD_WIDTH, NO_WINDOW, BoolField, Field, Fields, RotaryLayers, WitnessSpec, option, usual
from .bases.biased import BiasedThroughout
from .bases.stacked import Stack


@dataclass(frozen=True, kw_only=True)
class SmolLM3(BiasedThroughout):
    """SmolLM3, Bakouch et al. 2025 [bakouch2025]: Llama without positions in every fourth layer.

    Both kinds of layers have the same parameters. Their order does not affect any count.

    >>> SmolLM3().params
    2*L*E*A*D + 2*L*E*G*D + 3*L*E*H + 2*L*E + V*E + E
    """

    title = "SmolLM3"
    config = Fields(
        usual({V: 128256, E: 2048, H: 11008, A: 16, G: 4, D: HEAD_WIDTH}),
        layers=RotaryLayers({"1": L_rope, "0": L_nope}, depth=Field(("num_hidden_layers",), 36)),
        inert=("pretraining_tp", *NO_WINDOW),
    )
    witness = WitnessSpec("SmolLM3", arguments={"pad_token_id": None})  # any other value must be a token id
    variants = ({}, {"tied": False}, {"attention_bias": True}, {"mlp_bias": True}, {"head": "none"})

    tied: bool = option(BoolField("tie_word_embeddings", True))

    @property
    def stacks(self) -> tuple[Stack, ...]:
        unrotated = replace(self.rotary_attention, positions=None)
        return (
            Stack("rope_layers", L_rope, self.layer),
            Stack("nope_layers", L_nope, self.layer_of(unrotated, self.mlp)),
        )
