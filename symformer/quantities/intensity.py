"""Arithmetic intensity: the FLOPs of a run per byte that its operations read or write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from ..formulas.account import Measure, Term
from ..formulas.formula import Formula, Ratio, SizeSource
from ..language.sizes import Relations
from ..ledger.facts import Entry
from .cache_rules import DTYPE, one_token
from .contractions import ATTENTION, LOGITS, forward, rules
from .quantity import Convention, Conventions, Countable, Quantity
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


@dataclass(frozen=True)
class Intensity(Quantity):
    """A ratio of two sums: FLOPs over bytes."""

    def formula(
        self,
        part: Countable,
        stem: str,
        given: Mapping[str, str],
        relations: Relations,
        source: SizeSource | None = None,
    ) -> Ratio:
        """Return FLOPs over bytes, under the same conventions. Raises OptionError, UnknownNameError, RuleError."""
        above: Formula = super().formula(part, stem, given, relations, source)
        below = BYTES.formula(part, stem, given, relations, source)
        return Ratio(**{item.name: getattr(above, item.name) for item in fields(above)}, counts=FLOPS, over=below)


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
)
