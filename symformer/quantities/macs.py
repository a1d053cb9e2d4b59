"""Multiply-adds (MACs) of a forward pass, as vision papers, timm and fvcore print them: its FLOPs without the 2."""

from __future__ import annotations

from ..formulas.account import Measure
from ..ledger.facts import Kind
from .contractions import ATTENTION, EMBEDDING, LOGITS, once, ran_once, rules
from .quantity import BOTH, Quantity, measured

QUANTITY = Quantity(
    Measure("macs", "multiply-adds", "F_MAC", "MACs"),
    "One forward pass over B sequences of S tokens. A multiply-add counts once, so this is half of the FLOPs of all "
    "contractions (matrix products); an operation element by element has none.",
    {**rules(once), Kind.OBSERVED: measured("flops", ran_once)},
    ("operation", "multiplied out"),
    {"attention": ATTENTION, "logits": LOGITS, "embedding": EMBEDDING},
    "torch's FlopCounterMode counts 2 FLOPs for each multiply-add. Twice this formula is the forward FLOPs of "
    "contractions, which is what is certified, and half of what torch counts is compared with this one in the tests.",
    follows="flops",
    encoder=BOTH,
)
