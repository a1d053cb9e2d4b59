"""Pre-norm block."""

from __future__ import annotations

from abc import abstractmethod
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
class ResidualBlock(Component):
    """x + g(x), branch by branch; g is a sublayer with its norms, and a subclass says where those stand."""

    role = "block"
    shapes = "x[B,S,E] -> y[B,S,E]"
    relations = SelfAttention.relations
    constraints = SelfAttention.constraints

    parts: Mapping[str, Component]  # in the order they run, by torch's attribute names

    @property
    @abstractmethod
    def branch(self) -> tuple[str, ...]:
        """What each branch consists of, in the order it runs: "sublayer" once, and "norm"."""

    def forward(self, ops: Operations, x: Tensor, *context: Tensor) -> Tensor:
        parts, places = list(self.parts.items()), len(self.branch)
        for branch in zip(*(parts[place::places] for place in range(places)), strict=True):
            y = x
            for name, part in branch:
                y = ops.call(name, part, *read_by(part, y, context))
            sublayer, _ = branch[self.branch.index("sublayer")]
            x = ops.add(f"{sublayer}_residual".lstrip("_"), x, self.ended(ops, sublayer, y))
        return x

    def ended(self, ops: Operations, sublayer: str, y: Tensor) -> Tensor:
        """What is added, made from what a branch gives."""
        return y


@dataclass(frozen=True, kw_only=True)
class PreNormBlock(ResidualBlock):
    """``x + f(norm(x))`` for one sublayer after the other, Xiong et al. 2020 [xiong2020], table 1.

    >>> PreNormBlock().params
    4*E**2 + 2*E*H + 9*E + H
    """

    title = "Pre-norm block"
    branch = ("norm", "sublayer")

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
        bare = " Its first norm is left out: ``f(x)`` stands there." if isinstance(norms[0], Identity) else ""
        return f"``x + f(norm(x))`` {which}, Xiong et al. 2020 [xiong2020], table 1.{bare}"

    def ended(self, ops: Operations, sublayer: str, y: Tensor) -> Tensor:
        y = ops.scale(f"{sublayer}_{self.scale}", y) if self.scale else y
        return ops.dropout(self.dropout, y) if self.dropout else y
