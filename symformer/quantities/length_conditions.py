"""Limits on the length of a run: P learned positions support at most P tokens, and images take some of the tokens."""

from __future__ import annotations

from sympy import Expr, Symbol

from ..language.sizes import AtMost
from ..language.symbols import B_vis, C, N_new, S
from ..ledger.facts import SCATTERED, Ledger, OperationKind

AMONG = "the tokens of the images are among the tokens of the sequences; choose fewer images or longer sequences"
LONGER = "choose fewer tokens or more positions"


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
        # A table from which a run reads a single row, such as the number of speakers, does not limit its length.
        if entry.kind is OperationKind.LOOKUP and entry.function == "positions" and entry.inputs[0].shape:
            read, rows = entry.inputs[0].shape[-1], (*entry.weights, *entry.shared)[0].shape[0] - entry.skipped
            own = [read] if read.free_symbols and read.free_symbols <= letters else []  # no number of nearest rows
            found |= {(end, rows): None for end in (own if entry.output.encoded else ends) if end != rows}
    placed = [entry.inputs for _, entry in ledger if entry.function == SCATTERED]
    images = [(y.shape[0] * y.shape[1], x.shape[0] * x.shape[1]) for x, y in placed]
    return (
        *(AtMost(end, rows, LONGER) for end, rows in sorted(found, key=lambda pair: str(pair[1]))),
        *(AtMost(taken, all_, AMONG) for taken, all_ in images if {S, B_vis} <= letters),
    )
