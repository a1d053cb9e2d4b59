"""Training FLOPs: the contractions of a forward and a backward pass, and of what is computed again."""

from __future__ import annotations

from ..account import Measure, Term
from ..ledger import Entry, Kind
from .contractions import ATTENTION, EMBEDDING, contractions, rules
from .quantity import Convention, Conventions, Quantity


def trained(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Forward, a gradient for each side that needs one, and the forward again where it is recomputed."""
    terms: list[Term] = []
    for product in contractions(entry, conventions):
        terms += [product.forward(entry.path), *product.backward(entry.path)]
        if _again(entry, conventions["recompute"]):
            terms.append(Term(f"{entry.path} (again)", product.factors))
    return tuple(terms)


def _again(entry: Entry, recompute: str) -> bool:
    if recompute == "selective":
        return entry.kind in (Kind.SCORES, Kind.MIX)
    return recompute == "full" and "*" in entry.path.split(".")


QUANTITY = Quantity(
    Measure("train-flops", "training FLOPs", "T", "FLOPs"),
    "One forward and one backward pass over B sequences of S tokens, every weight trained, logits at all positions. "
    "Contractions (matrix products) only, 2 FLOPs a multiply-add. A product has two gradients, one for each side; the "
    "gradient of the model's own input is not asked for.",
    rules(trained),
    ("contraction", "multiplied out"),
    {
        "attention": ATTENTION,
        "embedding": EMBEDDING,
        "recompute": Convention(
            {
                "none": "nothing is recomputed",
                "selective": "the attention core (scores and mix) is computed again in the backward pass",
                "full": "every repeated layer is computed again to its end in the backward pass",
            }
        ),
    },
)
