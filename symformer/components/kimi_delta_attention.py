"""Kimi Delta Attention."""

from __future__ import annotations

from dataclasses import dataclass

from ..language.symbols import A_lin, D_lin, K_conv
from ..ledger.facts import ONE, Activation, Tensor
from ..ledger.operations import Operations
from .base import Component
from .gated_delta_net import CHUNK


@dataclass(frozen=True, kw_only=True)
class KimiDeltaAttention(Component):
    """Linear attention with a state of D_lin by D_lin numbers for each of A_lin heads, which the gated delta rule
    updates, Yang et al. 2024 [yang2024b], section 3.1, with a decay for each row of the state instead of one for each
    head, Kimi Team 2025 [kimi2025], section 3: the state decays, then the value that it returns for the token's key is
    replaced in part by the token's value, and the query reads the state.

    Queries, keys and values pass through a short convolution over K_conv positions, and queries and keys are divided by
    their lengths. The decays and the gates of the output are projections of rank D_lin. The output is normalized per
    head and multiplied by a sigmoid of its gates.

    transformers computes the rule in chunks of 64 tokens. In each chunk, the products of queries and keys with keys are
    elementwise, because of the decays, so torch's counter does not count them, nor the recurrent form that a single new
    token uses. The convolution computes K_conv - 1 positions more than are used, because transformers pads it. The
    cache contains the states and the last K_conv inputs of the convolution, for any number of tokens.

    >>> KimiDeltaAttention().params
    4*E*A_lin*D_lin + 3*A_lin*K_conv*D_lin + 2*A_lin*D_lin**2 + E*A_lin + 2*E*D_lin + A_lin*D_lin + A_lin + D_lin
    >>> KimiDeltaAttention().formula("kv-cache")
    6*B*A_lin*K_conv*D_lin + 4*B*A_lin*D_lin**2
    """

    title = "Kimi Delta Attention"
    role = "linear attention"
    purpose = "A state of fixed size carries the past, so the cost of generating a token does not grow with the length."
    shapes = "x[B,S,E] -> y[B,S,E]"

    activation: Activation = "silu"  # of the convolution; the gate has a sigmoid

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        inner = A_lin * D_lin
        q, k, v = (ops.linear(name, x, inner, bias=False) for name in ("q_proj", "k_proj", "v_proj"))
        joint = ops.concatenate("mixed", ops.concatenate("queries_and_keys", q, k), v)
        joint = ops.causal_depthwise_convolution("conv1d", ops.channels_first(joint), K_conv, bias=False)
        joint = ops.activation("act", ops.channels_last(joint), self.activation, module=False)
        q, k, v = (ops.heads(each, A_lin, D_lin) for each in ops.split(joint, (inner, inner, inner)))
        low = ops.linear("forget_gate.f_a_proj", x, D_lin, bias=False)
        step = ops.linear("forget_gate.f_b_proj", low, inner, bias=False)
        stored = ops.parameter("forget_gate", dt_bias=(inner,), A_log=(ONE, ONE, A_lin, ONE))
        strength = ops.activation("strength", ops.linear("b_proj", x, A_lin, bias=False), "sigmoid", module=False)
        y = ops.delta_rule("delta_rule", q, k, v, step, strength, stored, CHUNK)
        y = ops.merge(ops.norm("o_norm", y, "rms_late", bias=False))
        gate = ops.linear("g_b_proj", ops.linear("g_a_proj", x, D_lin, bias=False), inner, bias=False)
        y = ops.multiply("gated", y, ops.activation("gate", gate, "sigmoid", module=False))
        return ops.linear("o_proj", y, x.width, bias=False)
