"""Active parameters: what one token goes through, K of X experts."""

from __future__ import annotations

from ..formulas.account import Measure, Term
from ..language.errors import RuleError
from ..ledger.facts import STORING, WEIGHTLESS, Entry, Kind
from .quantity import Conventions, nothing, rows, stored, unseen
from .without import WITHOUT, Weighed


def chosen(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Of a table of experts, the rows of those that a token goes to: [K, out, in] of [X, out, in]."""
    if conventions.get("expert") == "on":
        raise RuleError(f"{entry.path}: how many of a token's K experts stand on one of N_ep ranks differs by token")
    some = entry.output.shape[-2]
    return tuple(Term(weight.path, (some, *weight.shape[1:])) for weight in entry.weights)


QUANTITY = Weighed(
    Measure("active-params", "active parameters", "N_active", "elements"),
    "Every element of every trained weight is counted, but of the experts of a layer only those that a token goes to. "
    "The whole router, the embedding and the head count, and a weight that is used in two places counts once. Without "
    "experts this is the number of parameters.",
    {
        **rows(stored, *STORING),
        Kind.EXPERTS: chosen,
        **rows(nothing, *WEIGHTLESS),
        Kind.OBSERVED: unseen,
    },
    ("weight", "shape"),
    {"without": WITHOUT},
    weighs=True,
    frozen="Weights that are stored but not trained also count.",
)
