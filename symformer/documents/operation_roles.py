"""The roles of the inputs of operations, such as the queries, keys and values of attention."""

from __future__ import annotations

from ..ledger.facts import ATTENDING, GENERAL, Entry, OperationKind, Scope, Tensor
from .ledger_dataflow import Item, entries_of, given_by, items_of, read_by

ROLES = {  # the usual names of the inputs of an operation
    OperationKind.SCORES: ("q", "k"),
    OperationKind.MIX: ("", "v"),
    OperationKind.SCAN: ("u", "δ", "β", "γ"),
    OperationKind.DELTA_RULE: ("q", "k", "v", "δ", "β"),
    OperationKind.RECURRENCE: ("u",),
    OperationKind.COMBINE: ("", "g"),
}
GENERAL_ROLES = ("r", "k", "v", "d", "u", "a")  # of the inputs of a generalized delta rule
RECURRENCES = (OperationKind.SCAN, OperationKind.DELTA_RULE, OperationKind.RECURRENCE)


def roles_of(entry: Entry) -> tuple[str, ...]:
    """Return the usual names of the inputs of an operation; empty for an input, or an operation, without any."""
    return GENERAL_ROLES if entry.function == GENERAL else ROLES.get(entry.kind, ())


def operation_roles(scope: Scope) -> dict[str, str]:
    """Return the roles of the operations and parts of an attention part: queries, keys, values or the output.

    A projection that computes the queries and also reaches the output without the scores computes a gate of the output.
    """
    entries = [item for item in items_of(scope) if isinstance(item, Entry)]
    if not any(entry.kind is OperationKind.SCORES for entry in entries):
        return {}
    readers: dict[int, list[tuple[Item, int]]] = {}
    for item in items_of(scope):
        for place, x in enumerate(read_by(item)):
            readers.setdefault(id(x.root), []).append((item, place))

    def reached(x: Tensor) -> set[str]:
        found: set[str] = set() if id(x) in readers else {"o"}
        for item, place in readers.get(id(x), []):
            if isinstance(item, Entry) and item.kind in ATTENDING:
                role = ROLES[item.kind][place]
                found |= {role} if role else set()
            elif isinstance(item, Entry) and item.kind is OperationKind.CHOOSE:
                found.add("c")
            else:
                found |= reached(given_by(item))
        return found

    names = {"q": "queries", "k": "keys", "v": "values", "c": "choice of keys", "o": "output gate"}
    said: dict[str, str] = {}
    for item in items_of(scope):
        chooses = isinstance(item, Scope) and any(each.kind is OperationKind.CHOOSE for each in entries_of(item))
        roles = {"c"} if chooses else reached(given_by(item))
        *first, last = [names[role] for role in names if role in roles] if roles - {"o"} else ["output"]
        said[_name(item, scope)] = f"{', '.join(first)} and {last}" if first else last
    return said


def _name(item: Item, scope: Scope) -> str:
    """Return the name of an operation or a part inside a part."""
    if isinstance(item, Scope):
        return item.name
    own = next(iter(entries_of(scope))).path
    outside = own[: own.rfind(f"{scope.name}.") + len(scope.name) + 1] if f"{scope.name}." in own else ""
    return item.path.removeprefix(outside)
