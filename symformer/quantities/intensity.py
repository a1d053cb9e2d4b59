"""Arithmetic intensity: the FLOPs of a run per byte that its operations read or write."""

from __future__ import annotations

from ..formulas.account import Measure, Term
from ..ledger.facts import Entry
from .cache_rules import DTYPE, one_token
from .contractions import ATTENTION, LOGITS, forward, rules
from .quantity import Convention, Conventions, Quantity
from .ratio_quantity import RatioQuantity
from .traffic_rules import ENCODER, KERNELS, PHASE, RULES


def contraction_flops(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the FLOPs of an entry's contractions, for all tokens or for one new token."""
    products = {**conventions, "embedding": "lookup", "count": "contractions"}
    return (forward if conventions["phase"] == "prefill" else one_token)(entry, products)


CONVENTIONS = {
    "phase": PHASE,
    "kernels": KERNELS,
    "attention": ATTENTION,
    "logits": LOGITS,
    "dtype": Convention(DTYPE),
}
FLOPS = Measure("flops", "FLOPs", "F", "FLOPs")
BYTES = Quantity(
    Measure("traffic", "bytes of memory traffic", "Q", "bytes"),
    "The bytes that the operations of the run read and write, every tensor and weight once per operation.",
    RULES,
    ("tensor read or written", "factors"),
    CONVENTIONS,
)


QUANTITY = RatioQuantity(
    Measure("intensity", "arithmetic intensity", "I", "FLOPs/byte"),
    "The FLOPs of one inference run divided by the bytes that its operations read and write; Williams et al. 2009 "
    "[williams2009]. FLOPs are those of contractions only, at 2 per multiply-add. Each operation reads or writes each "
    "of its tensors and weights once. If the ratio exceeds a machine's FLOPs per second over its bytes per second, the "
    "run is compute-bound; otherwise it is memory-bound.",
    rules(contraction_flops),
    ("operation", "factors"),
    CONVENTIONS,
    by_format="it counts the bytes of the weights that are read",
    encoder=ENCODER,
    numerator=FLOPS,
    denominator=BYTES,
)
