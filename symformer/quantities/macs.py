"""Multiply-adds (MACs) of a forward pass, as reported by vision papers, timm and fvcore: half its FLOPs."""

from __future__ import annotations

from ..formulas.account import Measure
from ..ledger.facts import OperationKind
from .contractions import ATTENTION, EMBEDDING, LOGITS, RECURRENT_RULE, multiply_adds, rules, traced_multiply_adds
from .quantity import BOTH, Quantity, measured

QUANTITY = Quantity(
    Measure("macs", "multiply-adds", "F_MAC", "MACs"),
    "The multiply-adds (MACs) of one forward pass over B sequences of S tokens: half the FLOPs of all contractions "
    "(matrix products). Elementwise operations add nothing.",
    {**rules(multiply_adds), OperationKind.OBSERVED: measured("flops", traced_multiply_adds)},
    ("operation", "factors"),
    {"attention": ATTENTION, "logits": LOGITS, "embedding": EMBEDDING},
    "torch's FlopCounterMode counts 2 FLOPs per multiply-add. Twice this formula equals the forward FLOPs of "
    "contractions, which have a certificate. The tests compare this formula with half of torch's count.",
    derived_from="flops",
    notes=RECURRENT_RULE,
    encoder=BOTH,
)
