"""LLaVA."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..components import Component, Projector
from ..ledger.facts import Activation
from .base_architecture import HEADS_DIVIDE, BoolField, EitherField, Fields, Function, Variants, WitnessSpec, option
from .bases.clip_vision import CLIP_CONDITIONS, ClipVision
from .bases.multimodal import IMAGE, TEXT
from .llama import Llama

# The image encoder of a config without any of its fields: CLIP ViT-L/14 at 336 pixels.
VIT_L_336 = {
    **{"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16},
    **{"patch_size": 14, "image_size": 336},
}


@dataclass(frozen=True, kw_only=True)
class LLaVA(ClipVision, Llama):
    """LLaVA 1.5, Liu et al. 2023 [liu2023b], section 3.3: CLIP's image encoder, a projector of two layers, and Llama.
    The features of an image are its patches after the second to last layer of the image encoder, Liu et al. 2023
    [liu2023], section 4.1. Each of them becomes one token, so an image takes ``Z**2/Z_patch**2`` of the S tokens.

    All layers of the image encoder run, in training without gradients of the last one. With ``class_token=true``, the
    class token is one more token.

    >>> LLaVA().params  # doctest: +NORMALIZE_WHITESPACE
    2*L*E*A*D + 2*L*E*G*D + E_vis*Z_patch**2*N_chan + 3*L*E*H + 4*L_vis*E_vis**2 + 2*L_vis*E_vis*H_vis
    + 2*L*E + 9*L_vis*E_vis + L_vis*H_vis + 2*V*E + E**2 + E*E_vis + 3*E + 6*E_vis + E_vis*Z**2/Z_patch**2
    """

    title = "LLaVA"
    language = Llama
    constraints = (*Llama.constraints, *CLIP_CONDITIONS)
    config = Fields(filled={IMAGE: VIT_L_336})
    witness = WitnessSpec("Llava", functions=("attention_dropout", "self_attn.dropout"), conditions=HEADS_DIVIDE)
    variants: ClassVar[Variants] = (
        *({}, {"head": "none"}, {"tied": True}, {"attention_bias": True}, {"mlp_bias": True}),
        *({"last_layer": True}, {"class_token": True}, {"projector_bias": False}),
    )

    tied: bool = option(EitherField("tie_word_embeddings", False, also=f"{TEXT}.tie_word_embeddings"))
    projector_activation: Activation = option(Function("projector_hidden_act", "gelu"))
    projector_bias: bool = option(BoolField("multimodal_projector_bias", True))

    @property
    def projector(self) -> Component:
        return Projector(bias=self.projector_bias, activation=self.projector_activation)
