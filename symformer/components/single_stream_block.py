"""A block with attention and a feed-forward network side by side, and one output projection for both."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sympy import Expr

from ..language.sizes import Divides
from ..language.symbols import A, E, H
from ..ledger.facts import Activation, Tensor
from ..ledger.operations import Operations
from ..ledger.placement import Cut
from .adaptive_block import PLAIN_NORM, modulate, modulation
from .base import Component
from .self_attention import SelfAttention


@dataclass(frozen=True, kw_only=True)
class SingleStreamBlock(Component):
    """A block with attention and a feed-forward network in parallel, as in ViT-22B, Dehghani et al. 2023
    [dehghani2023], section 2, whose outputs are concatenated and share one output projection, Labs et al. 2025
    [labs2025], section 2.

    A SiLU and a matrix compute three vectors s, b and g of E elements from the conditioning vector c. The block reads
    norm(x)·(1 + s) + b, and its output is multiplied by g.

    >>> SingleStreamBlock().params
    7*E**2 + 2*E*H + 7*E + H
    """

    title = "Single-stream block"
    role = "block"
    further_inputs = {"c": "is the embedding of the timestep and the other conditions"}
    constraints = (Divides(A, E),)

    attention: Component = field(
        default_factory=lambda: SelfAttention(kv_heads=A, head_width=E / A, causal=False, output="")
    )
    hidden: Expr = H
    activation: Activation = "gelu"

    @property
    def shapes(self) -> str:  # type: ignore[override]  # rotary angles are an additional input
        angles = self.attention.shapes.partition("->")[0].rstrip().partition("], ")[2]
        return f"x[B,S,E], c[B,E]{angles and f', {angles}'} -> y[B,S,E]"

    def split(self, cut: Cut) -> SingleStreamBlock:
        return replace(self, hidden=cut.share(self.hidden))

    def forward(self, ops: Operations, x: Tensor, c: Tensor, *angles: Tensor) -> Tensor:
        y = ops.call("norm.norm", PLAIN_NORM, x)
        shift, scale, gate = modulation(ops, "norm.silu", "norm.linear", c, 3)
        y = modulate(ops, "norm", y, shift, scale)
        hidden = ops.activation("act_mlp", ops.linear("proj_mlp", y, self.hidden), self.activation)
        both = ops.concatenate("both", ops.call("attn", self.attention, y, *angles), hidden)
        return ops.add("residual", x, ops.multiply("gate", ops.linear("proj_out", both, x.width), gate))
