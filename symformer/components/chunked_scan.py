"""State-space mixer of Mamba-2."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Integer

from ..language.sizes import AtMost, Divides
from ..language.symbols import A_ssm, C_chunk, D_ssm, G_ssm, K_conv, N_state
from ..ledger.facts import Activation, Tensor
from ..ledger.operations import Operations
from .base import Component

NO_CONTRACTION = (
    "in that case the class multiplies instead of contracting, which changes its FLOPs; choose a larger value"
)


@dataclass(frozen=True, kw_only=True)
class ChunkedScan(Component):
    """A short convolution, then a recurrent state of D_ssm by N_state numbers for each of A_ssm heads, and a gate, Dao
    and Gu 2024 [dao2024], section 7.1; computed in chunks, section 6.

    The paper's P, N and Q are D_ssm, N_state and C_chunk. The heads of each of G_ssm groups share the input and output
    projections (B and C) of their states. The convolution covers K_conv positions and computes K_conv - 1 positions
    more than are used, because transformers pads it. The cache contains the states and the last K_conv inputs of the
    convolution, for any number of tokens.

    >>> ChunkedScan(bias=False).formula("kv-cache")
    2*B*K_conv*A_ssm*D_ssm + 4*B*K_conv*G_ssm*N_state + 4*B*A_ssm*D_ssm*N_state
    """

    title = "State-space mixer (Mamba-2)"
    role = "state-space mixer"
    purpose = "A state of fixed size carries the past, so the cost of generating a token does not grow with the length."
    shapes = "x[B,S,E] -> y[B,S,E]"
    constraints = (
        Divides(G_ssm, A_ssm),
        AtMost(Integer(2), N_state, NO_CONTRACTION, of_run=True),
        AtMost(Integer(2), C_chunk, NO_CONTRACTION, of_run=True),
    )

    bias: bool = False  # of the input and output projections
    convolution_bias: bool = True
    activation: Activation = "silu"  # of the convolution; the gate has silu
    normalized: bool = True  # whether there is a norm, over each of G_ssm groups
    norm_first: bool = False  # whether the norm comes before the gate
    input_factor: str = ""  # the name of the constant factor of the input, or ""
    factors: str = ""  # the name of the constant factors of the input projection's pieces, or ""

    @property
    def about(self) -> str:
        """Return the description, with the constant factors."""
        said = [
            super().about,
            "The heads of each of G_ssm groups share the vectors with which their states are written and read.",
        ]
        if self.normalized:
            order = "before" if self.norm_first else "after"
            said.append(f"The result is normalized {order} the gate, the channels of each group separately.")
        said += ["A constant factor scales its input."] if self.input_factor else []
        if self.factors:
            said += ["Each of the five pieces of the input projection has a constant factor of its own."]
        return " ".join(said)

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        width, inner, along = x.width, A_ssm * D_ssm, G_ssm * N_state
        x = ops.scale(self.input_factor, x) if self.input_factor else x
        both = ops.linear("in_proj", x, 2 * inner + 2 * along + A_ssm, bias=self.bias)
        both = ops.scale(self.factors, both) if self.factors else both
        gate, x, step = ops.split(both, (inner, inner + 2 * along, A_ssm))
        x = ops.channels_last(
            ops.causal_depthwise_convolution("conv1d", ops.channels_first(x), K_conv, bias=self.convolution_bias)
        )
        x, write, read = ops.split(ops.activation("act", x, self.activation), (inner, along, along))
        stored = ops.parameter("", dt_bias=(A_ssm,), A_log=(A_ssm,), D=(A_ssm,))
        write, read = (ops.heads(each, G_ssm, N_state) for each in (write, read))
        y = ops.merge(ops.scan("scan", ops.heads(x, A_ssm, D_ssm), step, write, read, stored, C_chunk))
        norm_last = self.normalized and not self.norm_first
        if self.normalized and self.norm_first:
            y = ops.norm("norm", y, "rms_groups", bias=False, groups=G_ssm, float32=True)
        gate = ops.activation("gate", gate, "silu", module=False, float32=self.normalized)
        y = ops.multiply("gated", y, gate, float32=norm_last)
        if norm_last:
            y = ops.norm("norm", y, "rms_groups", bias=False, groups=G_ssm)
        return ops.linear("out_proj", y, width, bias=self.bias)
