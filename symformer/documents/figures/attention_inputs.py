"""What an operation reads each of its inputs as, such as queries, keys and values; a product may add 1."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from ...ledger.facts import CARRYING, Entry, OperationKind, Tensor
from ..operation_roles import roles_of

ALL = frozenset("qkv")
PLUS_ONE = "+ 1"  # next to the arrow of an input to which a product adds 1


def attention_roles(entries: Sequence[Entry], entry: Entry, read: Sequence[Tensor], alone: bool) -> dict[int, str]:
    """Return the roles of the inputs of an operation in a node, by their places.

    Parameters
    ----------
    entries
        The operations in the node.
    entry
        One of them.
    read
        The inputs of that operation.
    alone
        Whether the node is that single operation. An input of a whole part has a role only if the part reads it as
        some of queries, keys and values, but not as all of them.

    """
    if alone:
        named = roles_of(entry) if entry.kind in CARRYING else _direct(entry)
        return {place: role for place, role in enumerate(named) if role and place < len(read)}
    found = _roles(entries)
    return {
        place: ", ".join(each for each in "qkv" if each in found[id(tensor.root)])
        for place, tensor in enumerate(read)
        if found[id(tensor.root)] < ALL
    }


def _direct(entry: Entry) -> tuple[str, ...]:
    """Return the role of each input of an operation."""
    match entry.kind:
        case OperationKind.SCORES:
            return ("q", "k")
        case OperationKind.MIX:
            return ("", "v")
        case OperationKind.MULTIPLY if entry.function == "lifted":
            return ("", PLUS_ONE)
    return ()


def _roles(entries: Sequence[Entry]) -> dict[int, frozenset[str]]:
    """Return the roles that each tensor has in a part, directly or through other operations."""
    found: dict[int, frozenset[str]] = defaultdict(frozenset)
    for entry in reversed(entries):
        direct = _direct(entry)
        for place, tensor in enumerate(entry.inputs):
            if direct:
                found[id(tensor.root)] |= ALL.intersection(direct[place : place + 1])
            else:
                found[id(tensor.root)] |= found[id(entry.output.root)]
    return found
