"""Forward FLOPs: the contractions of one forward pass, as torch's FlopCounterMode counts them."""

from __future__ import annotations

from ..account import Measure
from .contractions import ATTENTION, LOGITS, forward, rules
from .quantity import Quantity

QUANTITY = Quantity(
    Measure("flops", "forward FLOPs", "F", "FLOPs"),
    "One forward pass over B sequences of S tokens. Contractions (matrix products) only, 2 FLOPs a multiply-add; "
    "an embedding is a lookup and costs nothing.",
    rules(forward),
    ("contraction", "multiplied out"),
    {"attention": ATTENTION, "logits": LOGITS},
)
