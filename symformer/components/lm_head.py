"""Language-model head."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sympy import Expr

from ..language.symbols import V
from ..ledger.facts import Tensor, Weight
from ..ledger.operations import Operations
from ..ledger.placement import Cut
from .base import Component


@dataclass(frozen=True, kw_only=True)
class LMHead(Component):
    """A projection from width E to one logit per row of the vocabulary. A tied head uses the token embedding, Press and
    Wolf 2017 [press2017].

    >>> LMHead().params, LMHead(bias=True).params, LMHead(tied=True).params
    (V*E, V*E + V, 0)
    """

    title = "Language-model head"
    role = "head"
    shapes = "x[...,E] -> logits[...,V]"

    rows: Expr = V
    tied: bool = False
    bias: bool = False
    capped: bool = False  # whether a tanh soft cap bounds the logits

    @property
    def about(self) -> str:
        """Return the description, which depends on whether the head is tied."""
        tied = " with the matrix of the token embedding (tied), Press and Wolf 2017 [press2017]" if self.tied else ""
        return f"A projection from width E to one logit per row of the vocabulary{tied}."

    def split(self, cut: Cut) -> LMHead:
        return replace(self, rows=cut.rows(self.rows))

    def forward(
        self, ops: Operations, x: Tensor, embedding: Weight | None = None, bias: Weight | None = None
    ) -> Tensor:
        shared = {"bias": bias} if bias else {}
        if self.tied:  # used alone, it reads a table outside of it
            shared["weight"] = embedding or Weight("embedding.weight", (self.rows, x.width))
        return ops.linear("", x, self.rows, bias=self.bias, shared=shared, logits=True, capped=self.capped)
