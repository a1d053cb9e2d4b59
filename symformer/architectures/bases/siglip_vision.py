"""SiglipVision: SigLIP's image encoder as the vision tower of a multimodal model."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Expr, Symbol

from ...components import Component, PatchFeatures
from ...configs.common_fields import Config
from ...configs.config_fields import BoolField, Field, Function, ProbabilityField
from ...configs.field_mapping import Fields
from ...language.errors import UnreadError
from ...language.symbols import A_vis, E_vis, H_vis, L_vis, Z, Z_patch
from ...ledger.facts import Activation
from ..base_architecture import option
from .clip_vision import CLIP_VISION
from .multimodal import IMAGE, Multimodal


@dataclass(frozen=True)
class WholePatches(Field):
    """The side length of an image of whole patches. The class drops the rest of a side, which this formula does not."""

    def read(self, size: Symbol, config: Config) -> int | Expr:
        """Return the side length. Raises UnreadError if it is not a multiple of the patch side length."""
        side, patch = super().read(size, config), config.get(f"{IMAGE}.patch_size", 16)
        if isinstance(side, int) and isinstance(patch, int) and patch > 1 and side % patch:
            raise UnreadError(f"{self.names[0]!r} is {side} in the config, which is not a multiple of {patch}")
        return side


@dataclass(frozen=True, kw_only=True)
class SiglipVision(Multimodal):
    """A multimodal model whose vision tower is SigLIP's image encoder."""

    config = Fields(
        {
            **CLIP_VISION,
            Z: WholePatches((f"{IMAGE}.image_size",), 224),
            Z_patch: Field((f"{IMAGE}.patch_size",), 16),
        },
        sections={IMAGE: ""},
        fixed={f"{IMAGE}.model_type": ("siglip_vision_model",)},
        inert=(
            *(f"{IMAGE}.projection_dim", f"{IMAGE}.projector_hidden_act"),  # of PaliGemma; the projector has its own
            *(f"{IMAGE}.num_image_tokens", f"{IMAGE}.num_positions"),  # follow from the image and the patch size
        ),
    )

    vision_head: bool = option(BoolField(f"{IMAGE}.vision_use_head", True))
    vision_activation: Activation = option(Function(f"{IMAGE}.hidden_act", "gelu_pytorch_tanh"))
    vision_dropout: bool = option(ProbabilityField(f"{IMAGE}.attention_dropout", 0.0))

    @property
    def vision(self) -> Component:
        return PatchFeatures(
            depth=L_vis,
            width=E_vis,
            heads=A_vis,
            hidden=H_vis,
            activation=self.vision_activation,
            dropout=self.vision_dropout,
            pooled=self.vision_head,
        )
