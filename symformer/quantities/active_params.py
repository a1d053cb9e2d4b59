"""Active parameters: what one token goes through, K of X experts."""

from __future__ import annotations

from ..account import Measure, Term
from ..errors import RuleError
from ..ledger import Entry, Kind
from .quantity import Conventions, Quantity


def active(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Every weight that an entry stores; of a table of experts, the rows of those chosen."""
    if entry.kind is Kind.EXPERTS:
        if conventions.get("expert") == "on":
            raise RuleError(
                f"{entry.path}: how many of a token's K experts stand on one of N_ep ranks differs by token"
            )
        chosen = entry.output.shape[-2]
        return tuple(Term(weight.path, (chosen, *weight.shape[1:])) for weight in entry.weights)
    return tuple(Term(weight.path, weight.shape) for weight in entry.weights)


QUANTITY = Quantity(
    Measure("active-params", "active parameters", "N", "elements"),
    "Every element of every trained weight is counted, but of X experts only the K that a token goes to. The whole "
    "router, the embedding and the head count, and a weight that is used in two places counts once. Without experts "
    "this is the number of parameters.",
    dict.fromkeys((kind for kind in Kind if kind is not Kind.STORED), active),
    ("weight", "shape"),
)
