"""The channel mixing of RWKV."""

from __future__ import annotations

from dataclasses import dataclass

from ..language.symbols import H
from ..ledger.facts import ONE, Tensor
from ..ledger.operations import Operations
from .base import Component


@dataclass(frozen=True, kw_only=True)
class ChannelMixing(Component):
    """A feed-forward network with two matrices and a squared ReLU, whose input is interpolated between each position
    and the preceding one, with a learned share for each element, Peng et al. 2025 [peng2025], section 4.

    The cache contains its input at the last token.

    >>> ChannelMixing().params
    2*E*H + E
    >>> ChannelMixing().formula("kv-cache")
    2*B*E
    """

    title = "Channel mixing"
    role = "MLP"
    purpose = (
        "Channel mixing has the role of a feed-forward network: it transforms each token, here with the preceding one."
    )
    shapes = "x[B,S,E] -> y[B,S,E]"

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        stored = ops.parameter("", x_k=(x.width,))
        previous = ops.shift("token_shift", x)
        mixed = ops.interpolate("mixed", x, previous, ops.read(stored["x_k"], ONE, ONE, x.width))
        hidden = ops.activation("act", ops.linear("key", mixed, H, bias=False), "relu2", module=False)
        return ops.linear("value", hidden, x.width, bias=False)
