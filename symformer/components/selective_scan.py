"""State-space mixer of Mamba."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Integer

from ..language.symbols import H_ssm, K_conv, N_state, R_dt
from ..ledger.facts import Activation, Tensor
from ..ledger.operations import Operations
from .base import Component


@dataclass(frozen=True, kw_only=True)
class SelectiveScan(Component):
    """A short convolution, then a recurrent state of N_state numbers for each of H_ssm channels, gated, Gu and Dao 2023
    [gu2023], sections 3.2 and 3.4. The step size and the input and output projections of the state depend on the token.

    The paper's D, ED and N are E, H_ssm and N_state; the projection of step sizes has rank R_dt. The convolution covers
    K_conv positions and computes K_conv - 1 positions more than are used, because transformers pads it. The cache
    contains the state and the last K_conv inputs of the convolution, for any number of tokens.

    >>> SelectiveScan().params
    3*E*H_ssm + K_conv*H_ssm + 3*H_ssm*N_state + 2*H_ssm*R_dt + 3*H_ssm
    >>> SelectiveScan().formula("kv-cache")
    2*B*K_conv*H_ssm + 4*B*H_ssm*N_state
    """

    title = "State-space mixer (Mamba)"
    role = "state-space mixer"
    purpose = "A state of fixed size carries the past, so the cost of generating a token does not grow with the length."
    shapes = "x[B,S,E] -> y[B,S,E]"

    bias: bool = False  # of the input and output projections
    convolution_bias: bool = True
    activation: Activation = "silu"  # of the convolution; the gate has silu
    normalized: bool = False  # whether the inputs of the scan that depend on the token are normalized
    norm_scale: bool = False  # whether these norms have a scale

    @property
    def about(self) -> str:
        """Return the description, with the norms."""
        norms = " The low-rank step sizes and both projections of the state are normalized."
        return super().about + (norms if self.normalized else "")

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        width, one = x.width, Integer(1)
        x, gate = ops.split(ops.linear("in_proj", x, 2 * H_ssm, bias=self.bias), (H_ssm, H_ssm))
        x = ops.channels_last(
            ops.causal_depthwise_convolution("conv1d", ops.channels_first(x), K_conv, bias=self.convolution_bias)
        )
        x = ops.activation("act", x, self.activation)
        low, write, read = ops.split(ops.linear("x_proj", x, R_dt + 2 * N_state, bias=False), (R_dt, N_state, N_state))
        if self.normalized:
            low, write, read = (
                ops.norm(f"{name}_layernorm", each, "rms", scale=self.norm_scale, bias=False)
                for name, each in (("dt", low), ("b", write), ("c", read))
            )
        step = ops.linear("dt_proj", low, H_ssm)
        stored = ops.parameter("", A_log=(H_ssm, N_state), D=(H_ssm,))
        channels = ops.heads(x, H_ssm, one)
        write, read = (ops.heads(each, one, N_state) for each in (write, read))
        y = ops.merge(ops.scan("scan", channels, step, write, read, stored))
        y = ops.multiply("gated", y, ops.activation("gate", gate, "silu", module=False))
        return ops.linear("out_proj", y, width, bias=self.bias)
