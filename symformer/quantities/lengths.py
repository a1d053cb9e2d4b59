"""How far a run may reach: a table of P learned positions has a row for each of P tokens, and for no further one."""

from __future__ import annotations

from sympy import Expr, Symbol

from ..language.sizes import AtMost
from ..language.symbols import C, N_new, S
from ..ledger.facts import Kind, Ledger

LONGER = "the model has no learned position further on; choose fewer tokens, or more positions"


def within(ledger: Ledger, letters: set[Symbol], after: int) -> tuple[AtMost, ...]:
    """The conditions on the lengths of a run that stand in a formula; ``after`` tokens run after those in the cache."""
    tables = {
        (*entry.weights, *entry.shared)[0].shape[0] - entry.skipped
        for _, entry in ledger
        if entry.kind is Kind.LOOKUP and entry.function == "positions"
    }
    last: list[Expr] = []
    if N_new in letters:  # the last new token is not read again
        last.append(S + N_new - 1)
    elif S in letters:
        last.append(S)
    if C in letters:
        last.append(C + after)
    return tuple(AtMost(each, rows, LONGER) for rows in sorted(tables, key=str) for each in last)
