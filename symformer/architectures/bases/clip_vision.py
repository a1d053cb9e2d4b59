"""ClipVision: CLIP's image encoder as the vision tower of a multimodal model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sympy import Integer, Symbol

from ...components import Component, ImageFeatures
from ...configs.config_fields import Choice, Field, Function, ProbabilityField
from ...configs.field_mapping import Fields
from ...language.sizes import Condition, Divides
from ...language.symbols import A_vis, E_vis, H_vis, L_vis, N_chan, Z, Z_patch
from ...ledger.facts import Activation
from ..base_architecture import option
from .multimodal import IMAGE, Multimodal

# The fields of the sizes of CLIP's image encoder, in their section.
CLIP_VISION: Mapping[Symbol, Field] = {
    Z: Field((f"{IMAGE}.image_size",), 224),
    Z_patch: Field((f"{IMAGE}.patch_size",), 32),
    N_chan: Field((f"{IMAGE}.num_channels",), 3),
    E_vis: Field((f"{IMAGE}.hidden_size",), 768),
    H_vis: Field((f"{IMAGE}.intermediate_size",), 3072),
    L_vis: Field((f"{IMAGE}.num_hidden_layers",), 12),
    A_vis: Field((f"{IMAGE}.num_attention_heads",), 12),
}
CLIP_CONDITIONS: tuple[Condition, ...] = (Divides(A_vis, E_vis), Divides(Z_patch, Z))


@dataclass(frozen=True, kw_only=True)
class ClipVision(Multimodal):
    """A multimodal model whose vision tower is CLIP's image encoder."""

    config = Fields(
        CLIP_VISION,
        sections={IMAGE: ""},
        fixed={f"{IMAGE}.model_type": ("clip_vision_model",)},
        inert=(f"{IMAGE}.projection_dim", f"{IMAGE}.vocab_size"),  # of CLIP's text encoder and of its projections
    )

    last_layer: bool = option(Choice("vision_feature_layer", {-2: False, -1: True}, -2))
    class_token: bool = option(Choice("vision_feature_select_strategy", {"default": False, "full": True}, "default"))
    vision_activation: Activation = option(Function(f"{IMAGE}.hidden_act", "quick_gelu"))
    vision_dropout: bool = option(ProbabilityField(f"{IMAGE}.attention_dropout", 0.0))

    @property
    def vision(self) -> Component:
        return ImageFeatures(
            depth=L_vis,
            width=E_vis,
            heads=A_vis,
            hidden=H_vis,
            activation=self.vision_activation,
            dropout=self.vision_dropout,
            unused=Integer(0 if self.last_layer else 1),
            class_token=self.class_token,
        )
