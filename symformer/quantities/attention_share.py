"""Attention's share: of the FLOPs of a forward pass, those of tokens with tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from ..formulas.account import Measure, Term
from ..formulas.formula import Ratio, Source
from ..language.sizes import Relations
from ..ledger.facts import Entry, Kind
from .by_token import of_one
from .contractions import ATTENTION, COUNT, EMBEDDING, LOGITS, forward, rules
from .quantity import BOTH, Conventions, Counted, Quantity, unseen


def attending(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """The two products of attention, and nothing of any other."""
    return forward(entry, {**conventions, "products": "attention"})


CONVENTIONS = {"attention": ATTENTION, "logits": LOGITS, "embedding": EMBEDDING, "count": COUNT}
ABOVE = Measure("attention", "FLOPs of the products of attention", "F_attn", "FLOPs")
WHOLE = Quantity(
    Measure("flops", "forward FLOPs", "F", "FLOPs"),
    "One forward pass over B sequences of S tokens, 2 FLOPs a multiply-add.",
    rules(forward),
    ("operation", "multiplied out"),
    CONVENTIONS,
)


@dataclass(frozen=True)
class Share(Quantity):
    """A part of a sum over the whole of it."""

    def formula(
        self,
        part: Counted,
        stem: str,
        given: Mapping[str, str],
        relations: Relations,
        source: Source | None = None,
    ) -> Ratio:
        """Some FLOPs over all, under the same conventions. Raises OptionError, UnknownNameError, RuleError."""
        above = super().formula(part, stem, given, relations, source)
        below = WHOLE.formula(part.answering(self, given), stem, given, relations, source)
        one, all_ = of_one(above.root), of_one(below.root)
        if one is not None and all_ is not None:  # the share is the same, however many there are
            above, below = replace(above, root=one), replace(below, root=all_)
        return Ratio(**{item.name: getattr(above, item.name) for item in fields(above)}, counts=ABOVE, over=below)


QUANTITY = Share(
    Measure("attention-share", "attention's share of the FLOPs", "Y_attn", "of the FLOPs"),
    "Of a forward pass over sequences of S tokens, the FLOPs of the two products of attention, queries with keys and "
    "weights with values, over those of all that is counted, 2 for a multiply-add. Both are of one sequence, where all "
    "cost alike.",
    {**rules(attending), Kind.OBSERVED: unseen},
    ("operation", "multiplied out"),
    CONVENTIONS,
    "A share has no certificate of its own. What stands above is a part of what stands below, product by product, and "
    "that is certified as the forward FLOPs.",
    follows="flops",
    encoder=BOTH,
)
