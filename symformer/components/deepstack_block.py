"""Layer of a language model that reads features of images."""

from __future__ import annotations

from dataclasses import dataclass

from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .pre_norm_block import PreNormBlock


@dataclass(frozen=True, kw_only=True)
class DeepstackBlock(PreNormBlock):
    """A pre-norm block after which features of the images are added to the tokens of the images, Meng et al. 2024
    [meng2024], section 3.

    >>> DeepstackBlock().params
    4*E**2 + 2*E*H + 9*E + H
    """

    title = "DeepStack block"
    further_inputs = {"features": "are the features of the images for this layer"}

    @property
    def shapes(self) -> str:  # type: ignore[override]
        """The inputs of the block, and the features."""
        return super().shapes.replace(" ->", ", features[B_vis,S_enc,E] ->")

    def forward(self, ops: Operations, x: Tensor, *context: Tensor) -> Tensor:
        features, *others = context
        x = super().forward(ops, x, *others)
        images = ops.add("with_features", ops.image_tokens("of_images", x, features), features)
        return ops.scatter("deepstack", x, images)
