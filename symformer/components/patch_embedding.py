"""Patch embedding."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Expr

from ..language.sizes import Divides
from ..language.symbols import E, Z, Z_patch
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component


@dataclass(frozen=True, kw_only=True)
class PatchEmbedding(Component):
    """A projection of the square patches of an image to a sequence, Dosovitskiy et al. 2021 [dosovitskiy2021], eq. 1.

    The paper's P, C and D are Z_patch, N_chan and E; the image is a square of side Z. The projection is a convolution
    whose stride is the side of a patch.

    >>> PatchEmbedding().params
    E*Z_patch**2*N_chan + E
    """

    title = "Patch embedding"
    role = "embeddings"
    shapes = "pixels[B,N_chan,Z,Z] -> x[B,Z**2/Z_patch**2,E]"
    constraints = (Divides(Z_patch, Z),)

    width: Expr = E
    bias: bool = True
    projection: str = ""

    def forward(self, ops: Operations, pixels: Tensor) -> Tensor:
        kernel = (Z_patch, Z_patch)
        x = ops.convolution(self.projection, pixels, self.width, kernel, stride=Z_patch, bias=self.bias)
        return ops.channels_last(x)
