"""Active parameters: the parameters one token uses, with K of X experts per layer."""

from __future__ import annotations

from ..formulas.account import Measure, Term
from ..language.errors import RuleError
from ..ledger.facts import STORING, WEIGHTLESS, Entry, OperationKind
from .exclusions import WITHOUT, StorageQuantity
from .quantity import Conventions, counts_nothing, refuse_observed, rows, stored


def chosen(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the terms of the experts a token is routed to: [K, out, in] of [X, out, in]."""
    if conventions.get("expert") == "on":
        raise RuleError(
            f"{entry.path}: with expert=on, the number of a token's K experts on one rank differs from token to token"
        )
    some = entry.output.shape[-2]
    return tuple(Term(weight.path, (some, *weight.shape[1:])) for weight in entry.weights)


QUANTITY = StorageQuantity(
    Measure("active-params", "active parameters", "N_active", "elements"),
    "The number of parameters that one token uses: every element of every weight, trained or not, is counted, but of "
    "the routed experts of a layer only those that a token is routed to. Shared experts, the whole router, the "
    "embedding and the LM head are included. A weight used in two places counts once. Without experts, this equals the "
    "number of parameters.",
    {
        **rows(stored, *STORING),
        OperationKind.EXPERTS: chosen,
        **rows(counts_nothing, *WEIGHTLESS),
        OperationKind.OBSERVED: refuse_observed,
    },
    ("weight", "shape"),
    {"without": WITHOUT},
    counts_storage=True,
)
