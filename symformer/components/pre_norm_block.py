"""Pre-norm block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base import Component, read_by
from .identity import Identity
from .layer_norm import LayerNorm
from .mlp import MLP
from .self_attention import SelfAttention


@dataclass(frozen=True, kw_only=True)
class PreNormBlock(Component):
    """x + f(norm(x)) for one sublayer after the other, Xiong et al. 2020 [xiong2020], table 1.

    >>> PreNormBlock().params
    4*E**2 + 2*E*H + 9*E + H
    """

    title = "Pre-norm block"
    role = "block"
    shapes = "x[B,S,E] -> y[B,S,E]"
    relations = SelfAttention.relations
    constraints = SelfAttention.constraints

    # In the order they run, a norm before each sublayer, by torch's attribute names.
    parts: Mapping[str, Component] = field(
        default_factory=lambda: {"ln_1": LayerNorm(), "attn": SelfAttention(), "ln_2": LayerNorm(), "mlp": MLP()}
    )
    dropout: str = ""  # on the output of each sublayer, where the block has it and not the sublayer
    scale: str = ""  # of a number that the output of each sublayer is multiplied by

    @property
    def about(self) -> str:
        """What its sublayers are, and whether one of them reads x as it is."""
        norms, sublayers = list(self.parts.values())[::2], len(self.parts) // 2
        which = {
            1: "for its one sublayer",
            2: "for attention, then for the feed-forward network",
            3: "for attention, for attention to the encoder, then for the feed-forward network",
        }[sublayers]
        bare = " Its first norm is left out: f(x) stands there." if isinstance(norms[0], Identity) else ""
        return f"x + f(norm(x)) {which}, Xiong et al. 2020 [xiong2020], table 1.{bare}"

    def forward(self, ops: Operations, x: Tensor, *context: Tensor) -> Tensor:
        parts = list(self.parts.items())
        for (norm, normalise), (name, sublayer) in zip(parts[::2], parts[1::2], strict=True):
            y = ops.call(name, sublayer, *read_by(sublayer, ops.call(norm, normalise, x), context))
            y = ops.scale(f"{name}_{self.scale}", y) if self.scale else y
            x = ops.add(f"{name}_residual".lstrip("_"), x, ops.dropout(self.dropout, y) if self.dropout else y)
        return x
