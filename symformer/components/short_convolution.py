"""Gated short convolution."""

from __future__ import annotations

from dataclasses import dataclass

from ..language.symbols import K_conv
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component


@dataclass(frozen=True, kw_only=True)
class ShortConvolution(Component):
    """A causal convolution over K_conv positions with a gate before it and a gate after it, Liquid AI 2025
    [liquid2025], section 2.

    Both gates and the input of the convolution are linear in the token; there is no activation. The convolution
    computes K_conv - 1 positions more than are used, because transformers pads it. The cache contains its last K_conv
    inputs, for any number of tokens.

    >>> ShortConvolution().params
    4*E**2 + E*K_conv
    >>> ShortConvolution().formula("kv-cache")
    2*B*E*K_conv
    """

    title = "Gated short convolution"
    role = "other"
    purpose = "A short convolution lets each token read from the few tokens before it."
    shapes = "x[B,S,E] -> y[B,S,E]"

    bias: bool = False  # of the projections and of the convolution

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        width = x.width
        before, after, x = ops.split(ops.linear("in_proj", x, 3 * width, bias=self.bias), (width, width, width))
        x = ops.multiply("gated_input", before, x)
        x = ops.channels_last(ops.causal_depthwise_convolution("conv", ops.channels_first(x), K_conv, bias=self.bias))
        return ops.linear("out_proj", ops.multiply("gated_output", after, x), width, bias=self.bias)
