"""Gated DeltaNet."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Integer

from ..language.sizes import Divides
from ..language.symbols import A_k_lin, A_v_lin, D_k_lin, D_v_lin, K_conv
from ..ledger.facts import Activation, Tensor
from ..ledger.operations import Operations
from .base import Component

CHUNK = Integer(64)  # the number of tokens that transformers' code processes at once


@dataclass(frozen=True, kw_only=True)
class GatedDeltaNet(Component):
    """Linear attention with a state of D_k_lin by D_v_lin numbers for each of A_v_lin heads, which the gated delta rule
    updates, Yang et al. 2024 [yang2024b], section 3.1: the state decays, then the value that it returns for the token's
    key is replaced in part by the token's value, and the query reads the state.

    Queries, keys and values pass through a short convolution over K_conv positions, queries and keys are divided by
    their lengths, and the output is normalized per head and gated, section 3.4. The A_v_lin value heads share A_k_lin
    heads of queries and keys.

    transformers computes the rule in chunks of 64 tokens, section 3.3; torch's counter does not count the solution of
    the triangular systems, nor the recurrent form that a single new token uses. The convolution computes K_conv - 1
    positions more than are used, because transformers pads it. The cache contains the states and the last K_conv inputs
    of the convolution, for any number of tokens.

    >>> GatedDeltaNet().params.partial(D_k_lin="D", D_v_lin="D")
    2*E*A_k_lin*D + 3*E*A_v_lin*D + 2*A_k_lin*K_conv*D + A_v_lin*K_conv*D + 2*E*A_v_lin + 2*A_v_lin + D
    >>> GatedDeltaNet().formula("kv-cache")
    4*B*A_k_lin*K_conv*D_k_lin + 2*B*A_v_lin*K_conv*D_v_lin + 4*B*A_v_lin*D_k_lin*D_v_lin
    """

    title = "Gated DeltaNet"
    role = "linear attention"
    purpose = "A state of fixed size carries the past, so the cost of generating a token does not grow with the length."
    shapes = "x[B,S,E] -> y[B,S,E]"
    constraints = (Divides(A_k_lin, A_v_lin),)

    activation: Activation = "silu"  # of the convolution; the gate has silu
    # The names of the matrices. The first is the matrix of queries, keys, values and gates; if it is "", the second is
    # the matrix of the first three; if it is also "", each has a matrix of its own.
    everything: str = ""
    mixed: str = ""
    query: str = "q_proj"
    key: str = "k_proj"
    value: str = "v_proj"
    gate: str = "g_proj"
    both: str = ""  # the matrix of strengths and steps, or "" if each has a matrix of its own
    strength: str = "b_proj"
    step: str = "a_proj"
    norm_name: str = "o_norm"
    output: str = "o_proj"
    factor: str = ""  # the name of the constant factor of the strengths, or ""

    @property
    def about(self) -> str:
        """Return the description, with the constant factor."""
        said = super().about
        return f"{said} The share that is replaced is between 0 and 2." if self.factor else said

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        keys, values = A_k_lin * D_k_lin, A_v_lin * D_v_lin
        joint, gate = self._projected(ops, x)
        if self.both:
            strength, step = ops.split(ops.linear(self.both, x, 2 * A_v_lin, bias=False), (A_v_lin, A_v_lin))
        else:
            strength = ops.linear(self.strength, x, A_v_lin, bias=False)
            step = ops.linear(self.step, x, A_v_lin, bias=False)
        joint = ops.causal_depthwise_convolution("conv1d", ops.channels_first(joint), K_conv, bias=False)
        joint = ops.activation("act", ops.channels_last(joint), self.activation, module=False)
        q, k, v = ops.split(joint, (keys, keys, values))
        q, k = (ops.heads(each, A_k_lin, D_k_lin) for each in (q, k))
        strength = ops.activation("strength", strength, "sigmoid", module=False)
        strength = ops.scale(self.factor, strength) if self.factor else strength
        stored = ops.parameter("", dt_bias=(A_v_lin,), A_log=(A_v_lin,))
        y = ops.delta_rule("delta_rule", q, k, ops.heads(v, A_v_lin, D_v_lin), step, strength, stored, CHUNK)
        y = ops.merge(ops.norm(self.norm_name, y, "rms", bias=False))
        y = ops.multiply("gated", y, ops.activation("gate", gate, "silu", module=False, float32=True))
        return ops.linear(self.output, y, x.width, bias=False)

    def _projected(self, ops: Operations, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the queries, keys and values side by side, and the gates."""
        keys, values = A_k_lin * D_k_lin, A_v_lin * D_v_lin
        if self.everything:
            both = ops.linear(self.everything, x, 2 * keys + 2 * values, bias=False)
            joint, gate = ops.split(both, (2 * keys + values, values))
            return joint, gate
        if self.mixed:
            joint = ops.linear(self.mixed, x, 2 * keys + values, bias=False)
        else:
            q, k = (ops.linear(name, x, keys, bias=False) for name in (self.query, self.key))
            v = ops.linear(self.value, x, values, bias=False)
            joint = ops.concatenate("mixed", ops.concatenate("queries_and_keys", q, k), v)
        return joint, ops.linear(self.gate, x, values, bias=False)
