"""Masked-language-model head."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sympy import Expr

from ..language.symbols import V
from ..ledger.facts import Tensor, Weight
from ..ledger.operations import Operations
from ..ledger.placement import Cut
from .base import Component
from .head_transform import HeadTransform
from .lm_head import LMHead


@dataclass(frozen=True, kw_only=True)
class MaskedLMHead(Component):
    """A transform of width E, then a decoder with a bias of its own, Devlin et al. 2019 [devlin2019], section 3.1.

    The transform is as in the released code. The matrix of the decoder is the token embedding unless it is untied. If
    it is untied, transformers stores two biases and uses the decoder's.

    >>> MaskedLMHead().params, MaskedLMHead(tied=False).params
    (E**2 + V + 3*E, V*E + E**2 + 2*V + 3*E)
    """

    title = "Masked-language-model head"
    role = "head"
    shapes = "x[B,S,E] -> logits[B,S,V]"

    rows: Expr = V
    tied: bool = True
    transform: HeadTransform = field(
        default_factory=lambda: HeadTransform(
            dense="transform.dense", act="transform.transform_act_fn", norm="transform.LayerNorm"
        )
    )
    decoder: str = "decoder"

    def split(self, cut: Cut) -> MaskedLMHead:
        return replace(self, rows=cut.rows(self.rows))

    def forward(self, ops: Operations, x: Tensor, embedding: Weight | None = None) -> Tensor:
        x = self.transform.forward(ops, x)
        bias = ops.parameter("", bias=(self.rows,))["bias"]
        shared = bias if self.tied else None
        return ops.call(self.decoder, LMHead(rows=self.rows, tied=self.tied, bias=True), x, embedding, shared)
