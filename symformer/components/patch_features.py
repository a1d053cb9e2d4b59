"""Features of an image from a vision transformer without a class token."""

from __future__ import annotations

from dataclasses import dataclass

from ..ledger.facts import ZERO, Tensor
from ..ledger.operations import Operations
from .pooled_image_encoder import PooledImageEncoder


@dataclass(frozen=True, kw_only=True)
class PatchFeatures(PooledImageEncoder):
    """The normalized patches of an image after the last layer of SigLIP's image encoder, Zhai et al. 2023 [zhai2023].

    >>> PatchFeatures().params
    E*Z_patch**2*N_chan + 4*L*E**2 + 2*L*E*H + 9*L*E + L*H + 3*E + E*Z**2/Z_patch**2
    """

    title = "Patch features"
    shapes = "pixels[B,N_chan,Z,Z] -> x[B,Z**2/Z_patch**2,E]"

    pooled: bool = False  # whether the encoder also has its attention pooling, whose output is not used

    @property
    def about(self) -> str:
        """Return the description: whether there is an attention pooling, which is not used."""
        pooling = " The output of its attention pooling is not used." if self.pooled else ""
        return super().about + pooling

    def forward(self, ops: Operations, pixels: Tensor) -> Tensor:
        x = self.encode(ops, pixels)
        if self.pooled:
            with ops.used(ZERO):
                self.pool(ops, x)
        return x
