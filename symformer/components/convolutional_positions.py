"""Positions from a convolution."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Integer

from ..language.sizes import Divides
from ..language.symbols import E, G_near, K_near
from ..ledger.facts import Activation, Tensor
from ..ledger.operations import Operations
from .base import Component


@dataclass(frozen=True, kw_only=True)
class ConvolutionalPositions(Component):
    """A convolution over the K_near nearest tokens, whose output is added to each token in place of a position, Baevski
    et al. 2020 [baevski2020], section 2. Its channels form G_near groups. Its weight is normalized, Salimans and Kingma
    2016 [salimans2016], eq. 2: the matrix at each position of the kernel is divided by its length and multiplied by a
    stored number.

    >>> ConvolutionalPositions().params
    E**2*K_near/G_near + E + K_near
    """

    title = "Positions from a convolution"
    role = "embeddings"
    purpose = "A convolution over neighbouring tokens takes the place of a table of positions."
    shapes = "x[B,S,E] -> y[B,S,E]"
    constraints = (Divides(G_near, E), Divides(Integer(2), K_near))

    activation: Activation = "gelu"

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        wide = ops.convolution(
            "conv", ops.channels_first(x), x.width, (K_near,), padding=K_near / 2, groups=G_near, weight_norm=True
        )
        y = ops.channels_last(wide).view(x.shape)  # without the last of S + 1 positions
        return ops.activation("activation", y, self.activation)
