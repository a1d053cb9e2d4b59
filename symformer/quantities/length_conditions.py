"""Limits on the length of a run: a table of P learned positions supports at most P tokens."""

from __future__ import annotations

from sympy import Expr, Symbol

from ..language.sizes import AtMost
from ..language.symbols import C, N_new, S
from ..ledger.facts import Ledger, OperationKind

LONGER = "later tokens have no learned position; choose fewer tokens or more positions"


def length_conditions(ledger: Ledger, letters: set[Symbol], after: int) -> tuple[AtMost, ...]:
    """Return the conditions on the lengths of a run that a formula contains.

    Parameters
    ----------
    ledger : Ledger
        The operations of the model.
    letters : set[Symbol]
        The symbols of the formula.
    after : int
        The number of tokens processed after those in the cache.

    """
    ends: list[Expr] = []
    if N_new in letters:  # the last new token is not fed back
        ends.append(S + N_new - 1)
    elif S in letters:
        ends.append(S)
    if C in letters:
        ends.append(C + after)
    found: dict[tuple[Expr, Expr], None] = {}
    for _, entry in ledger:
        if entry.kind is OperationKind.LOOKUP and entry.function == "positions":
            read, rows = entry.inputs[0].shape[-1], (*entry.weights, *entry.shared)[0].shape[0] - entry.skipped
            own = [read] if read.free_symbols <= letters else []
            found |= {(end, rows): None for end in (own if entry.output.encoded else ends) if end != rows}
    return tuple(AtMost(end, rows, LONGER) for end, rows in sorted(found, key=lambda pair: str(pair[1])))
