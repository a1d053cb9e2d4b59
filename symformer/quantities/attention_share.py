"""Attention's share: the fraction of forward FLOPs in the two products of attention."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from ..formulas.account import Measure, Term
from ..formulas.formula import Ratio, SizeSource
from ..language.sizes import Relations
from ..ledger.facts import Entry, OperationKind
from .contractions import ATTENTION, COUNT, EMBEDDING, LOGITS, forward, rules
from .per_token import for_one_sequence
from .quantity import BOTH, Conventions, Countable, Quantity, refuse_observed


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


@dataclass(frozen=True)
class AttentionShare(Quantity):
    """A ratio of part of a sum to the whole sum."""

    def formula(
        self,
        part: Countable,
        stem: str,
        given: Mapping[str, str],
        relations: Relations,
        source: SizeSource | None = None,
    ) -> Ratio:
        """Return attention FLOPs over all FLOPs, under the same conventions.

        Raises OptionError, UnknownNameError, RuleError.
        """
        above = super().formula(part, stem, given, relations, source)
        below = WHOLE.formula(part.answering(self, given), stem, given, relations, source)
        one, all_ = for_one_sequence(above.root), for_one_sequence(below.root)
        if one is not None and all_ is not None:  # the share does not depend on B
            above, below = replace(above, root=one), replace(below, root=all_)
        return Ratio(**{item.name: getattr(above, item.name) for item in fields(above)}, counts=ABOVE, over=below)


QUANTITY = AttentionShare(
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
)
