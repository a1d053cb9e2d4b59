"""Token embedding."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sympy import Expr

from ..language.symbols import E, V
from ..ledger.facts import Tensor, Weight
from ..ledger.operations import Operations
from ..ledger.placement import Cut
from .base import Component


@dataclass(frozen=True, kw_only=True)
class TokenEmbedding(Component):
    """One row of E elements for each token of the vocabulary, Vaswani et al. 2017 [vaswani2017], section 3.4.

    >>> TokenEmbedding().params
    V*E
    """

    title = "Token embedding"
    role = "embeddings"
    shapes = "tokens[B,S] -> x[B,S,E]"

    rows: Expr = V
    width: Expr = E

    def split(self, cut: Cut) -> TokenEmbedding:
        return replace(self, rows=cut.rows(self.rows))

    def forward(self, ops: Operations, tokens: Tensor, table: Weight | None = None) -> Tensor:
        return ops.lookup("", tokens, self.rows, self.width, "tokens", shared={"weight": table} if table else {})
