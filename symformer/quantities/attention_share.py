"""Attention's share: the fraction of forward FLOPs in the two products of attention."""

from __future__ import annotations

from ..formulas.account import Measure, Term
from ..ledger.facts import Entry, OperationKind
from .contractions import ATTENTION, COUNT, EMBEDDING, LOGITS, forward, rules
from .quantity import BOTH, Conventions, Quantity, refuse_observed
from .ratio_quantity import RatioQuantity


def attending(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the terms of the two products of attention only."""
    return forward(entry, {**conventions, "products": "attention"})


CONVENTIONS = {"attention": ATTENTION, "logits": LOGITS, "embedding": EMBEDDING, "count": COUNT}
ABOVE = Measure("attention", "FLOPs of the products of attention", "F_attn", "FLOPs")
WHOLE = Quantity(
    Measure("flops", "forward FLOPs", "F", "FLOPs"),
    "The FLOPs of one forward pass over B sequences of S tokens, at 2 FLOPs per multiply-add.",
    rules(forward),
    ("operation", "factors"),
    CONVENTIONS,
)


QUANTITY = RatioQuantity(
    Measure("attention-share", "attention's share of the FLOPs", "Y_attn", "of the FLOPs"),
    "The fraction of forward FLOPs in the two products of attention: the FLOPs of queries with keys and of attention "
    "weights with values, divided by all forward FLOPs, at 2 FLOPs per multiply-add. Both counts are for one sequence "
    "of S tokens if they are proportional to the number of sequences.",
    {**rules(attending), OperationKind.OBSERVED: refuse_observed},
    ("operation", "factors"),
    CONVENTIONS,
    "A share has no certificate of its own. The denominator is the forward FLOPs, which have a certificate, and the "
    "numerator is the sum of some of its products.",
    derived_from="flops",
    encoder=BOTH,
    numerator=ABOVE,
    denominator=WHOLE,
    of_one_sequence=True,
)
