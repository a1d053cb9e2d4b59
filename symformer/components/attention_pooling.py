"""Attention pooling."""

from __future__ import annotations

from dataclasses import dataclass, field

from sympy import Expr

from ..language.sizes import Divides
from ..language.symbols import A, E
from ..ledger.facts import ONE, Tensor
from ..ledger.operations import Operations
from .base import Component
from .layer_norm import LayerNorm
from .mlp import MLP
from .query_attention import QueryAttention


@dataclass(frozen=True, kw_only=True)
class AttentionPooling(Component):
    """Attention of one learned query to all tokens, then a pre-norm feed-forward network, Zhai et al. 2022 [zhai2022],
    section 3.2.

    >>> AttentionPooling().params
    4*E**2 + 2*E*H + 8*E + H
    """

    title = "Attention pooling"
    role = "head"
    purpose = "Attention with a learned query turns the tokens of an image into a single vector."
    shapes = "x[B,S,E] -> y[B,E]"
    constraints = (Divides(A, E),)

    heads: Expr = A
    mlp: MLP = field(default_factory=MLP)

    def forward(self, ops: Operations, x: Tensor) -> Tensor:
        batch, _, width = x.shape
        query = ops.learned("probe", ONE, ONE, width).view((batch, ONE, width))
        attention = QueryAttention(heads=self.heads, kv_heads=self.heads, head_width=width / self.heads)
        y = ops.call("attention", attention, query, x)
        y = ops.add("residual", y, ops.call("mlp", self.mlp, ops.call("layernorm", LayerNorm(), y)))
        return ops.select("query", y)
