"""Sandwich-norm block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component
from .gated_mlp import GatedMLP
from .pre_norm_block import ResidualBlock
from .rms_norm import RMSNorm
from .self_attention import SelfAttention


@dataclass(frozen=True, kw_only=True)
class SandwichBlock(ResidualBlock):
    """Each sublayer f, attention and then the feed-forward network, is applied as ``x + norm(f(norm(x)))``, Ding et al.
    2021 [ding2021].

    >>> SandwichBlock().params
    4*E**2 + 3*E*H + 8*E
    """

    title = "Sandwich-norm block"
    branch = ("norm", "sublayer", "norm")

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
    factor: str = ""  # the name of the constant factor of the block's output, or ""
    dropout: str = ""  # the name of the block's dropout on the output of each branch, or ""

    @property
    def about(self) -> str:
        """Return the description, which depends on the sublayers."""
        crossed = len(self.parts) > 2 * len(self.branch)
        mixers = "self-attention, cross-attention to the encoder" if crossed else "attention"
        said = f"Each sublayer f, {mixers} and then the feed-forward network, is applied as ``x + norm(f(norm(x)))``"
        return f"{said}, Ding et al. 2021 [ding2021]."

    def ended(self, ops: Operations, sublayer: str, y: Tensor) -> Tensor:
        return ops.dropout(self.dropout, y) if self.dropout else y

    def forward(self, ops: Operations, x: Tensor, *context: Tensor) -> Tensor:
        y = super().forward(ops, x, *context)
        return ops.scale(self.factor, y) if self.factor else y
