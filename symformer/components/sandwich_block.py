"""Sandwich-norm block."""

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
class SandwichBlock(Component):
    """x + norm(f(norm(x))) for attention, then for the feed-forward network, Ding et al. 2021 [ding2021].

    >>> SandwichBlock().params
    4*E**2 + 3*E*H + 8*E
    """

    title = "Sandwich-norm block"
    role = "block"
    shapes = "x[B,S,E] -> y[B,S,E]"
    relations = SelfAttention.relations
    constraints = SelfAttention.constraints

    # In the order they run, a norm before and after each sublayer, by torch's attribute names.
    parts: Mapping[str, Component] = field(
        default_factory=lambda: {
            "input_layernorm": RMSNorm(),
            "self_attn": SelfAttention(),
            "post_attention_layernorm": RMSNorm(),
            "pre_feedforward_layernorm": RMSNorm(),
            "mlp": GatedMLP(),
            "post_feedforward_layernorm": RMSNorm(),
        }
    )

    def forward(self, ops: Operations, x: Tensor, *context: Tensor) -> Tensor:
        parts = list(self.parts.items())
        for before, (name, sublayer), after in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
            y = ops.call(name, sublayer, *read_by(sublayer, ops.call(*before, x), context))
            x = ops.add(f"{name}_residual", x, ops.call(*after, y))
        return x
