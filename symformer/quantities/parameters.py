"""Parameters: the elements of every stored weight. A weight that two operations share is stored, and counted, once."""

from __future__ import annotations

from ..formulas.account import Measure
from ..ledger.facts import Kind
from .quantity import Quantity, measured, nothing, rows, stored

QUANTITY = Quantity(
    Measure("params", "parameters", "N", "elements"),
    "Every element of every trained weight is counted: matrices, biases, and the scales and biases of norms. A weight "
    "that is used in two places is stored once and counted once. Fixed tables, activations and dropout store nothing.",
    {
        **rows(stored, Kind.LOOKUP, Kind.LINEAR, Kind.CONVOLUTION, Kind.NORM, Kind.EXPERTS, Kind.PARAMETER),
        **rows(nothing, Kind.SCORES, Kind.SOFTMAX, Kind.MIX, Kind.ACTIVATION, Kind.MULTIPLY, Kind.ADD),
        **rows(nothing, Kind.DROPOUT, Kind.ROTATE, Kind.POSITIONS, Kind.JOIN, Kind.SELECT, Kind.ROUTE),
        **rows(nothing, Kind.COMBINE, Kind.MOVE),
        Kind.OBSERVED: measured("params", stored),
    },
    ("weight", "shape"),
    frozen="A table that is never trained counts as well where it is stored among the weights.",
)
