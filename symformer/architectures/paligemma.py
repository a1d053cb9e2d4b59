"""PaliGemma."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..components import Component, LinearProjector, SelfAttention
from ..language.sizes import Divides
from ..language.symbols import A_vis, E, E_vis, Z, Z_patch
from .base_architecture import HEADS_DIVIDE, BoolField, Fields, WitnessSpec, option, unknown
from .bases.multimodal import IMAGE, TEXT
from .bases.siglip_vision import SiglipVision
from .gemma import Gemma

# The towers of a config without any of their fields: SigLIP So400m, with another hidden size of its MLP, and Gemma 2B.
SO400M = {
    **{"hidden_size": 1152, "intermediate_size": 4096, "num_hidden_layers": 27, "num_attention_heads": 16},
    **{"patch_size": 14, "image_size": 224, "vision_use_head": False},
}
GEMMA_2B = {
    **{"hidden_size": 2048, "intermediate_size": 16384, "num_hidden_layers": 18, "num_attention_heads": 8},
    **{"num_key_value_heads": 1, "vocab_size": 257152},
}


@dataclass(frozen=True, kw_only=True)
class PaliGemma(SiglipVision, Gemma):
    """PaliGemma, Beyer et al. 2024 [beyer2024], section 3.1: SigLIP's image encoder, a linear projector, and Gemma.
    Each patch of an image becomes one token, so an image takes ``Z**2/Z_patch**2`` of the S tokens. The tokens of the
    images and of the prompt attend to each other in both directions.

    >>> PaliGemma(vision_head=False).params  # doctest: +NORMALIZE_WHITESPACE
    2*L*E*A*D + 2*L*E*G*D + E_vis*Z_patch**2*N_chan + 3*L*E*H + 4*L_vis*E_vis**2 + 2*L_vis*E_vis*H_vis
    + 2*L*E + 9*L_vis*E_vis + L_vis*H_vis + V*E + E*E_vis + 2*E + 3*E_vis + E_vis*Z**2/Z_patch**2
    """

    title = "PaliGemma"
    language = Gemma
    constraints = (*Gemma.constraints, Divides(A_vis, E_vis), Divides(Z_patch, Z))
    config = Fields(
        filled={IMAGE: SO400M, TEXT: GEMMA_2B},
        restated={"projection_dim": E},
        assumed={"projection_dim": 2048},
        fixed={f"{TEXT}.use_bidirectional_attention": (True, False, None)},
        inert=(
            f"{TEXT}.tie_word_embeddings",  # the field of the whole model decides
            f"{TEXT}.num_image_tokens",  # follows from the image and the patch size
            "hidden_size",
        ),
    )
    witness = WitnessSpec("PaliGemma", functions=("attention_dropout", "self_attn.dropout"), conditions=HEADS_DIVIDE)
    variants = ({}, {"head": "none"}, {"tied": False}, {"vision_head": False})

    tied: bool = option(BoolField("tie_word_embeddings", True))

    @property
    def rotary_attention(self) -> SelfAttention:
        return replace(super().rotary_attention, prompt=True)

    @property
    def projector(self) -> Component:
        return LinearProjector()

    @property
    def activation_refusal(self) -> str:
        return unknown("its attention pooling") if self.vision_head else ""
