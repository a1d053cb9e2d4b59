"""Convolutions that reduce the features of an image."""

from __future__ import annotations

from dataclasses import dataclass

from ..language.sizes import Divides
from ..language.symbols import N_out, Z, Z_patch
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component
from .layer_norm import LayerNorm


@dataclass(frozen=True, kw_only=True)
class ImageNeck(Component):
    """Two convolutions, with kernels of 1 by 1 and 3 by 3, that reduce the features of each patch to N_out channels,
    each with a layer norm, Kirillov et al. 2023 [kirillov2023], appendix A.

    >>> ImageNeck().params
    E*N_out + 9*N_out**2 + 4*N_out
    """

    title = "Neck"
    role = "head"
    purpose = "The decoder of masks reads fewer channels than the layers have."
    shapes = "x[B,Z**2/Z_patch**2,E] -> y[B,N_out,Z/Z_patch,Z/Z_patch]"
    constraints = (Divides(Z_patch, Z),)

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        side = Z / Z_patch
        for name, kernel in (("1", 1), ("2", 3)):
            image = x.view((x.shape[0], x.width, side, side))
            y = ops.convolution(f"conv{name}", image, N_out, (kernel, kernel), padding=kernel // 2, bias=False)
            x = ops.call(f"layer_norm{name}", LayerNorm(), ops.channels_last(y))
        return x.view((x.shape[0], N_out, side, side))
