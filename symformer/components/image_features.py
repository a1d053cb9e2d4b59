"""Features of an image from a vision transformer with a class token."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Expr

from ..language.notation.text import text
from ..ledger.facts import ZERO, Tensor
from ..ledger.operations import Operations
from .image_encoder import ImageEncoder


@dataclass(frozen=True, kw_only=True)
class ImageFeatures(ImageEncoder):
    """The patches of an image after a layer of CLIP's image encoder, Liu et al. 2023 [liu2023], section 4.1.

    >>> ImageFeatures().params
    E*Z_patch**2*N_chan + 4*L*E**2 + 2*L*E*H + 9*L*E + L*H + 6*E + E*Z**2/Z_patch**2
    """

    title = "Image features"

    unused: Expr = ZERO  # the number of layers after the one whose output is used; they run, but get no gradient
    class_token: bool = False  # whether the class token is one of the features

    @property
    def shapes(self) -> str:  # type: ignore[override]  # the class token is one more position
        return f"pixels[B,N_chan,Z,Z] -> x[B,Z**2/Z_patch**2{'+1' * self.class_token},E]"

    @property
    def about(self) -> str:
        """Return the description: which layer and which positions are used, and what runs without being used."""
        what = "class token and the patches" if self.class_token else "patches"
        where = "the last layer" if self.unused == 0 else f"layer {text(self.depth - self.unused)}"
        after = "" if self.unused == 0 else " The remaining layers run, but their output is not used."
        return (
            f"The {what} of an image after {where} of CLIP's image encoder, Radford et al. 2021 [radford2021], section "
            f"2.4, as in Liu et al. 2023 [liu2023], section 4.1.{after} The norm of the class token is not used either."
        )

    def forward(self, ops: Operations, pixels: Tensor) -> Tensor:
        x = self.embed(ops, pixels)
        with ops.used((self.depth - self.unused) / self.depth):
            x = self.run_layers(ops, x)
        with ops.used(ZERO):
            self.pool(ops, x)
        x = ops.earlier("features", x, self.unused)
        return x if self.class_token else ops.without_first("patches", x)
