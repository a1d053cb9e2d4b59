"""Block with a norm on each residual branch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component, read_by
from .gated_mlp import GatedMLP
from .rms_norm import RMSNorm
from .self_attention import SelfAttention


@dataclass(frozen=True, kw_only=True)
class ResPostNormBlock(Component):
    """x + norm(f(x)) for attention, then for the feed-forward network, Liu et al. 2022 [liu2022], section 3.2.

    >>> ResPostNormBlock().params
    4*E**2 + 3*E*H + 6*E
    """

    title = "Block with norms on its branches"
    role = "block"
    shapes = "x[B,S,E] -> y[B,S,E]"
    relations = SelfAttention.relations
    constraints = SelfAttention.constraints

    # In the order they run, a norm after each sublayer, by torch's attribute names.
    parts: Mapping[str, Component] = field(
        default_factory=lambda: {
            "self_attn": SelfAttention(),
            "post_attention_layernorm": RMSNorm(),
            "mlp": GatedMLP(),
            "post_feedforward_layernorm": RMSNorm(),
        }
    )

    def forward(self, ops: Operations, x: Tensor, *context: Tensor) -> Tensor:
        parts = list(self.parts.items())
        for (name, sublayer), (norm, normalise) in zip(parts[::2], parts[1::2], strict=True):
            y = ops.call(name, sublayer, *read_by(sublayer, x, context))
            x = ops.add(f"{name}_residual", x, ops.call(norm, normalise, y))
        return x
