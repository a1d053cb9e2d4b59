"""Arithmetic intensity: the FLOPs of a run per byte that its operations read or write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sympy import Symbol

from ..formulas.account import Measure, Term
from ..ledger.facts import Entry
from .cache_rules import DTYPE, one_token
from .contractions import ATTENTION, LOGITS, forward, rules
from .quantity import Convention, Conventions, Countable
from .ratio_quantity import RatioQuantity
from .stored_format import WEIGHTS
from .traffic import WEIGHT_FORMAT, Traffic
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
    WEIGHTS: WEIGHT_FORMAT,
}
FLOPS = Measure("flops", "FLOPs", "F", "FLOPs")
BYTES = Traffic(
    Measure("traffic", "bytes of memory traffic", "Q", "bytes"),
    "The bytes that the operations of the run read and write, every tensor and weight once per operation.",
    RULES,
    ("tensor read or written", "factors"),
    CONVENTIONS,
)


@dataclass(frozen=True)
class Intensity(RatioQuantity):
    """The ratio, whose denominator depends on the format of the weights."""

    def takes_own_format(self, part: Countable) -> bool:
        """Return whether the weights count in the format in which the model is published, unless one is given."""
        return BYTES.takes_own_format(part)

    def default_sizes(self, part: Countable, conventions: Conventions) -> Mapping[Symbol, int]:
        """Return the elements per group, if the format has groups."""
        return BYTES.default_sizes(part, conventions)

    def format_dependence(self, part: Countable, given: Mapping[str, str]) -> str:
        """Return why the format of the weights affects the answer; "" if it is given."""
        return BYTES.format_dependence(part, given)


QUANTITY = Intensity(
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
