"""Forward FLOPs: one forward pass; by default the contractions alone, as torch's FlopCounterMode counts them."""

from __future__ import annotations

from ..formulas.account import Measure
from .contractions import ATTENTION, COUNT, EMBEDDING, LOGITS, PRODUCTS, forward, rules
from .counted import IMAGES
from .counted.rule_set import CountedAs
from .quantity import BOTH

QUANTITY = CountedAs(
    Measure("flops", "forward FLOPs", "F", "FLOPs"),
    "One forward pass over B sequences of S tokens, 2 FLOPs a multiply-add.",
    rules(forward, seen="flops"),
    ("operation", "multiplied out"),
    {"attention": ATTENTION, "logits": LOGITS, "embedding": EMBEDDING, "count": COUNT, "products": PRODUCTS},
    encoder=BOTH,
    rule_sets=IMAGES,
)
