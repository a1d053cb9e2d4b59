"""RobertaLike: BERT's encoder with positions after the padding token, and RoBERTa's head."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from sympy import Integer

from ...components import HeadTransform, MaskedLMHead, Pooler, PositionEmbedding
from ...language.symbols import A, E, H, L, P, V_type
from ...ledger.facts import Tensor
from ...ledger.operations import Operations
from ..base_architecture import Fields, usual
from .bert_like import FIXED, BertLike


@dataclass(frozen=True, kw_only=True)
class RobertaLike(BertLike):
    """The base of RoBERTa, and of XLM-R and CamemBERT, whose classes equal its own.

    Position numbers start after the id of the padding token, 1, so two of the P rows are unused.
    """

    config = Fields(
        usual({P: 512, V_type: 2, E: 768, H: 3072, L: 12, A: 12}),
        fixed={**FIXED, "pad_token_id": (1,)},
    )
    heads = {"Model": {"head": "pooler"}, "ForMaskedLM": {"head": "mlm"}}
    variants = ({}, {"head": "mlm"}, {"head": "mlm", "tied": False})

    head: Literal["pooler", "mlm"] = "pooler"

    @property
    def positions(self) -> PositionEmbedding:
        return replace(super().positions, skipped=Integer(2))

    def finish(self, ops: Operations, x: Tensor) -> Tensor:
        if self.head == "pooler":
            return ops.call("pooler", Pooler(), x)
        transform = HeadTransform(act="gelu", norm="layer_norm")
        head = MaskedLMHead(tied=self.tied, transform=transform)
        return ops.call("lm_head", head, x, ops.weight(f"{self.names.table}.weight"))
