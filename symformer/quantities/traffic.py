"""Traffic: the bytes that the operations of a run read and write."""

from __future__ import annotations

from ..formulas.account import Measure
from .access import ENCODER, KERNELS, PHASE, RULES
from .contractions import LOGITS
from .generation import DTYPE
from .quantity import Convention, Quantity

QUANTITY = Quantity(
    Measure("traffic", "bytes of memory traffic", "Q", "bytes"),
    "What the operations of one run without gradients read and write: each reads its inputs and its weights once and "
    "writes its output once. Views, and dropout, which is off, move nothing; fixed tables are counted where they are "
    "read. Indices have 8 bytes.",
    RULES,
    ("what is read or written", "multiplied out"),
    {"phase": PHASE, "kernels": KERNELS, "logits": LOGITS, "dtype": Convention(DTYPE)},
    "torch counts no such thing. What its matrix products are given and give is compared with this formula's terms in "
    "the tests, and the rest is worked by hand there.",
    by_format="it counts the bytes of the weights that are read",
    encoder=ENCODER,
)
