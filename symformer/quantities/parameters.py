"""Parameters: the elements of every stored weight. A weight that two operations share is stored, and counted, once."""

from __future__ import annotations

from ..account import Measure, Term
from ..ledger import Entry, Kind
from .quantity import Conventions, Quantity, nothing


def stored(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """The shape of each weight this entry stores, multiplied out."""
    return tuple(Term(weight.path, weight.shape) for weight in entry.weights)


QUANTITY = Quantity(
    Measure("params", "parameters", "N", "elements"),
    "Every element of every trained weight is counted: matrices, biases, and the scales and biases of norms. A weight "
    "that is used in two places is stored once and counted once. Fixed tables, activations and dropout store nothing.",
    {
        Kind.LOOKUP: stored,
        Kind.LINEAR: stored,
        Kind.NORM: stored,
        Kind.SCORES: nothing,
        Kind.SOFTMAX: nothing,
        Kind.MIX: nothing,
        Kind.ACTIVATION: nothing,
        Kind.MULTIPLY: nothing,
        Kind.ADD: nothing,
        Kind.DROPOUT: nothing,
        Kind.ROTATE: nothing,
        Kind.POSITIONS: nothing,
        Kind.JOIN: nothing,
        Kind.SELECT: nothing,
        Kind.ROUTE: nothing,
        Kind.EXPERTS: stored,
        Kind.COMBINE: nothing,
        Kind.PARAMETER: stored,
        Kind.STORED: stored,
        Kind.MOVE: nothing,
    },
    ("weight", "shape"),
)
