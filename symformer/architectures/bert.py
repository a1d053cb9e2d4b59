"""BERT."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from sympy import Integer

from ..components import Linear, MaskedLMHead, Pooler
from ..language.symbols import A, E, H, L, P, V, V_type
from ..ledger.facts import Tensor
from ..ledger.operations import Operations
from .base_architecture import Fields, WitnessSpec, usual
from .bases.bert_like import FIXED, BertLike


@dataclass(frozen=True, kw_only=True)
class BERT(BertLike):
    """BERT, Devlin et al. 2019 [devlin2019], section 3: a post-norm encoder with learned positions and segments.

    >>> BERT().params
    4*L*E**2 + 2*L*E*H + 9*L*E + L*H + V*E + V_type*E + P*E + E**2 + 3*E
    """

    title = "BERT"
    config = Fields(
        usual({V: 30522, P: 512, V_type: 2, E: 768, H: 3072, L: 12, A: 12}),
        fixed=FIXED,
        inert=(  # written by early releases, and not read by any class
            *("directionality", "pooler_type", "pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers"),
            "pooler_size_per_head",
        ),
    )
    heads = {"Model": {"head": "pooler"}, "ForMaskedLM": {"head": "mlm"}, "ForPreTraining": {"head": "pretraining"}}
    witness = WitnessSpec("Bert", prefix="bert.")
    variants = ({}, {"head": "mlm"}, {"head": "pretraining"}, {"head": "mlm", "tied": False})

    head: Literal["pooler", "mlm", "pretraining"] = "pooler"

    def finish(self, ops: Operations, x: Tensor) -> Tensor | tuple[Tensor, ...]:
        if self.head == "pooler":
            return ops.call("pooler", Pooler(), x)
        head = MaskedLMHead(tied=self.tied)
        head = replace(head, transform=replace(head.transform, activation=self.activation))
        logits = ops.call("cls.predictions", head, x, ops.weight(f"{self.names.table}.weight"))
        if self.head == "mlm":
            return logits
        pooled = ops.call("pooler", Pooler(), x)
        return logits, ops.call("cls.seq_relationship", Linear(out=Integer(2)), pooled)
