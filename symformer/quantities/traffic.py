"""Memory traffic: the bytes that the operations of a run read and write."""

from __future__ import annotations

from ..formulas.account import Measure
from .cache_rules import DTYPE
from .contractions import LOGITS
from .quantity import Convention, Quantity
from .traffic_rules import ENCODER, KERNELS, PHASE, RULES

QUANTITY = Quantity(
    Measure("traffic", "bytes of memory traffic", "Q", "bytes"),
    "The bytes that the operations of one inference run read and write: each operation reads its inputs and its "
    "weights once and writes its output once. Views and dropout (disabled) move no data. Fixed tables count as inputs "
    "of the operations that read them. Indices have 8 bytes.",
    RULES,
    ("tensor read or written", "factors"),
    {"phase": PHASE, "kernels": KERNELS, "logits": LOGITS, "dtype": Convention(DTYPE)},
    "torch has no counter for this. The tests compare the terms of matrix products with the inputs and outputs of "
    "torch's products, and the other terms with hand calculations.",
    by_format="it counts the bytes of the weights that are read",
    encoder=ENCODER,
)
