"""Forward FLOPs: one forward pass. By default contractions only, as in torch's FlopCounterMode."""

from __future__ import annotations

from ..formulas.account import Measure
from .contractions import ATTENTION, COUNT, EMBEDDING, LOGITS, PRODUCTS, RECURRENT_RULE, forward, rules
from .quantity import BOTH
from .rule_sets import IMAGES
from .rule_sets.rule_set import RuleSetQuantity

QUANTITY = RuleSetQuantity(
    Measure("flops", "forward FLOPs", "F", "FLOPs"),
    "The FLOPs of one forward pass over B sequences of S tokens, at 2 FLOPs per multiply-add.",
    rules(forward, seen="flops"),
    ("operation", "factors"),
    {"attention": ATTENTION, "logits": LOGITS, "embedding": EMBEDDING, "count": COUNT, "products": PRODUCTS},
    notes=RECURRENT_RULE,
    encoder=BOTH,
    rule_sets=IMAGES,
)
