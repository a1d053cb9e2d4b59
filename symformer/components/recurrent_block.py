"""Recurrent block of Griffin."""

from __future__ import annotations

from dataclasses import dataclass

from ..language.sizes import Divides
from ..language.symbols import A, H_lru, K_conv
from ..ledger.facts import EARLIER_INPUTS, Activation, Tensor
from ..ledger.operations import Operations
from .base import Component


@dataclass(frozen=True, kw_only=True)
class RecurrentBlock(Component):
    """A short convolution and a recurrence, the RG-LRU, whose state is one number for each of H_lru channels, times a
    gate, De et al. 2024 [de2024], sections 2.3 and 2.4. At each token, the state decays and adds the token's gated
    value; two gates of the token determine how much decays and how much of the value is added.

    The paper's D_RNN is H_lru. The matrices of the two gates are block-diagonal, with A blocks. The convolution covers
    K_conv positions and computes K_conv - 1 positions more than are used, because transformers pads it. The cache
    contains the state and the last K_conv - 1 inputs of the convolution, for any number of tokens.

    >>> RecurrentBlock().params
    3*E*H_lru + K_conv*H_lru + E + 2*H_lru**2/A + 6*H_lru
    >>> RecurrentBlock().formula("kv-cache")
    2*B*K_conv*H_lru + 2*B*H_lru
    """

    title = "Recurrent block"
    role = "recurrent block"
    purpose = "A state of fixed size carries the past, so the cost of generating a token does not grow with the length."
    shapes = "x[B,S,E] -> y[B,S,E]"
    constraints = (Divides(A, H_lru),)

    activation: Activation = "gelu_pytorch_tanh"  # of the gate of the output

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        width = H_lru / A
        gate = ops.activation("act_fn", ops.linear("linear_y", x, H_lru), self.activation)
        values = ops.channels_first(ops.linear("linear_x", x, H_lru))
        values = ops.causal_depthwise_convolution("conv_1d", values, K_conv, function=EARLIER_INPUTS)
        values = ops.heads(ops.channels_last(values), A, width)
        stored = ops.parameter(
            "rg_lru",
            recurrent_param=(H_lru,),
            input_gate_weight=(A, width, width),
            input_gate_bias=(A, width),
            recurrent_gate_weight=(A, width, width),
            recurrent_gate_bias=(A, width),
        )
        y = ops.merge(ops.recurrence("rg_lru", values, stored))
        return ops.linear("linear_out", ops.multiply("gated", y, gate), x.width)
