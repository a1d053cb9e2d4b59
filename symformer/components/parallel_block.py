"""Parallel block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component, inputs_for
from .gated_mlp import GatedMLP
from .layer_norm import LayerNorm
from .self_attention import SelfAttention


@dataclass(frozen=True, kw_only=True)
class ParallelBlock(Component):
    """``x + attention(norm(x)) + MLP(norm(x))``, with one norm for both or a norm for each.

    >>> ParallelBlock().params
    4*E**2 + 3*E*H + 6*E
    """

    title = "Parallel block"
    role = "block"
    shapes = "x[B,S,E] -> y[B,S,E]"
    relations = SelfAttention.relations
    constraints = SelfAttention.constraints

    # A norm, then the sublayers that read it, and so on, by their names in torch.
    parts: Mapping[str, Component] = field(
        default_factory=lambda: {"norm": LayerNorm(), "attention": SelfAttention(), "mlp": GatedMLP()}
    )

    @property
    def about(self) -> str:
        """Return the description, which depends on the number of norms."""
        if sum(part.role == "norms" for part in self.parts.values()) == 1:
            which = "Chowdhery et al. 2022 [chowdhery2022], section 2, with one norm for both sublayers."
        else:
            which = "Black et al. 2022 [black2022], section 2.1.2, with a norm for each sublayer."
        return f"``x + attention(norm(x)) + MLP(norm(x))``, {which}"

    def forward(self, ops: Operations, x: Tensor, *context: Tensor) -> Tensor:
        y = normal = x
        for name, part in self.parts.items():
            if part.role == "norms":
                normal = ops.call(name, part, x)
                continue
            y = ops.add(f"{name}_residual", y, ops.call(name, part, *inputs_for(part, normal, context)))
        return y
