"""Transformer block whose weights several layers share."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..language.sizes import Divides
from ..language.symbols import A, E
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component, context_signature, inputs_for
from .gated_mlp import GatedMLP
from .rms_norm import RMSNorm
from .self_attention import SelfAttention


@dataclass(frozen=True, kw_only=True)
class SharedTransformerBlock(Component):
    """Attention and a feed-forward network, each after a norm and without a residual connection, Glorioso et al. 2024
    [glorioso2024], section 2.

    The input of attention is each token next to its embedding, of width 2E, so its heads have width 2E/A.

    >>> SharedTransformerBlock().params
    14*E**2 + 3*E*H + 3*E
    """

    title = "Shared transformer block"
    role = "block"
    further_inputs = {"x_0": "are the embeddings of the tokens"}
    constraints = (Divides(A, E),)

    norm: Component = field(default_factory=RMSNorm)
    attention: Component = field(
        default_factory=lambda: SelfAttention(
            inner=2 * E, kv_heads=A, head_width=2 * E / A, bias=False, output_bias=False, scale="number"
        )
    )
    mlp: Component = field(default_factory=lambda: GatedMLP(fused="gate_up_proj"))

    @property
    def shapes(self) -> str:  # type: ignore[override]  # rotary angles are a further input
        return f"x[B,S,E], x_0[B,S,E]{context_signature(self.attention)} -> y[B,S,E]"

    def forward(self, ops: Operations, x: Tensor, embedded: Tensor, *angles: Tensor) -> Tensor:
        pair = ops.call("input_layernorm", self.norm, ops.concatenate("pair", x, embedded))
        y = ops.call("self_attn", self.attention, *inputs_for(self.attention, pair, angles))
        z: Tensor = ops.call("feed_forward", self.mlp, ops.call("pre_ff_layernorm", self.norm, y))
        return z
