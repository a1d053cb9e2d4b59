"""Parallel block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component, read_by
from .gated_mlp import GatedMLP
from .layer_norm import LayerNorm
from .self_attention import SelfAttention


@dataclass(frozen=True, kw_only=True)
class ParallelBlock(Component):
    """x + attention(norm(x)) + MLP(norm(x)), one norm for both; Chowdhery et al. 2022 [chowdhery2022], section 2.

    >>> ParallelBlock().params
    4*E**2 + 3*E*H + 6*E
    """

    title = "Parallel block"
    role = "block"
    shapes = "x[B,S,E] -> y[B,S,E]"
    relations = SelfAttention.relations
    constraints = SelfAttention.constraints

    # The norm, then the sublayers that all read it, by torch's attribute names.
    parts: Mapping[str, Component] = field(
        default_factory=lambda: {"norm": LayerNorm(), "attention": SelfAttention(), "mlp": GatedMLP()}
    )

    def forward(self, ops: Operations, x: Tensor, *context: Tensor) -> Tensor:
        (norm, normalise), *sublayers = self.parts.items()
        normal = ops.call(norm, normalise, x)
        for name, sublayer in sublayers:
            x = ops.add(f"{name}_residual", x, ops.call(name, sublayer, *read_by(sublayer, normal, context)))
        return x
