"""Sandwich-norm block with experts next to its feed-forward network."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .moe import MoE
from .rms_norm import RMSNorm
from .sandwich_block import SandwichBlock


@dataclass(frozen=True, kw_only=True)
class ExpertSandwichBlock(SandwichBlock):
    """Attention is applied as ``x + norm(f(norm(x)))``, Ding et al. 2021 [ding2021]. Then ``x + norm(norm(f(norm(x))) +
    norm(g(x)))`` follows, where f is the feed-forward network and g the experts, which read the same x.

    >>> ExpertSandwichBlock().params
    3*E*X*M + 4*E**2 + 3*E*H + E*X + 11*E
    """

    title = "Sandwich-norm block with experts"

    experts: MoE = field(
        default_factory=lambda: MoE(input_norm=RMSNorm(), input_norm_name="pre_feedforward_layernorm_2")
    )
    mlp_norm: str = "post_feedforward_layernorm_1"  # of the output of the feed-forward network
    experts_norm: str = "post_feedforward_layernorm_2"  # of the output of the experts

    def forward(self, ops: Operations, x: Tensor, *context: Tensor) -> Tensor:
        parts = list(self.parts.items())
        attention, (before, mlp, after) = dict(parts[:3]), parts[3:]
        x = SandwichBlock.forward(replace(self, parts=attention, factor=""), ops, x, *context)
        y = ops.call(mlp[0], mlp[1], ops.call(before[0], before[1], x))
        y = ops.call(self.mlp_norm, after[1], y)
        z = ops.call(self.experts_norm, after[1], ops.call("", self.experts, x))
        x = ops.add("mlp_residual", x, ops.call(after[0], after[1], ops.add("experts_sum", y, z)))
        return ops.scale(self.factor, x) if self.factor else x
