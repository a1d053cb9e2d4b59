"""Arithmetic intensity: the FLOPs of a run for each byte that its operations read and write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from ..formulas.account import Measure, Term
from ..formulas.formula import Formula, Ratio, Source
from ..language.sizes import Relations
from ..ledger.facts import Entry
from .access import ENCODER, KERNELS, PHASE, RULES
from .contractions import ATTENTION, LOGITS, forward, rules
from .generation import DTYPE, one_token
from .quantity import Convention, Conventions, Counted, Quantity


def counted(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """The FLOPs of a contraction, of all tokens or of one."""
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
    "What the operations of the run read and write, every tensor and weight once.",
    RULES,
    ("what is read or written", "multiplied out"),
    CONVENTIONS,
)


@dataclass(frozen=True)
class Intensity(Quantity):
    """A quantity that is one sum over another."""

    def formula(
        self,
        part: Counted,
        stem: str,
        given: Mapping[str, str],
        relations: Relations,
        source: Source | None = None,
    ) -> Ratio:
        """FLOPs over bytes, under the same conventions. Raises OptionError, UnknownNameError, RuleError."""
        above: Formula = super().formula(part, stem, given, relations, source)
        below = BYTES.formula(part, stem, given, relations, source)
        return Ratio(**{item.name: getattr(above, item.name) for item in fields(above)}, counts=FLOPS, over=below)


QUANTITY = Intensity(
    Measure("intensity", "arithmetic intensity", "I", "FLOPs/byte"),
    "The FLOPs of one run without gradients, contractions only and 2 for a multiply-add, over the bytes that its "
    "operations read and write, every tensor and weight once; Williams et al. 2009 [williams2009]. Where "
    "this exceeds a machine's FLOPs a second over its bytes a second, arithmetic bounds the run; below, memory does.",
    rules(counted),
    ("operation", "multiplied out"),
    CONVENTIONS,
    by_format="it counts the bytes of the weights that are read",
    encoder=ENCODER,
)
