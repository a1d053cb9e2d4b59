"""Sandwich-norm block with a learned augmented residual connection next to its attention."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import inputs_for
from .laurel import Laurel
from .sandwich_block import SandwichBlock


@dataclass(frozen=True, kw_only=True)
class LaurelBlock(SandwichBlock):
    """Attention and a learned augmented residual connection (LAuReL), Menghani et al. 2024 [menghani2024], read the
    same norm of x. Their sum is divided by the root of 2: ``(x + norm(attention(norm(x))) + laurel(norm(x))) / √2``.
    The feed-forward network f then is applied as ``x + norm(f(norm(x)))``, Ding et al. 2021 [ding2021].

    >>> LaurelBlock().params
    4*E**2 + 3*E*H + 2*E*R_lau + 9*E
    """

    title = "Sandwich-norm block with a learned augmented residual"

    laurel: Laurel = field(default_factory=Laurel)
    laurel_name: str = "laurel"

    def forward(self, ops: Operations, x: Tensor, *context: Tensor) -> Tensor:
        (before, norm), (name, attention), (after, last), *network = self.parts.items()
        normed = ops.call(before, norm, x)
        learned = ops.call(self.laurel_name, self.laurel, normed)
        y = ops.call(after, last, ops.call(name, attention, *inputs_for(attention, normed, context)))
        both = ops.add(f"{self.laurel_name}_residual", ops.add(f"{name}_residual", x, y), learned)
        x = y = ops.scale(f"{self.laurel_name}_scale", both)
        for name, part in network:
            y = ops.call(name, part, y)
        return ops.add(f"{network[1][0]}_residual", x, y)
