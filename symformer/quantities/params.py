"""Parameters: the elements of every stored weight. A weight that two operations share is stored, and counted, once."""

from __future__ import annotations

from ..formulas.account import Measure
from ..ledger.facts import STORING, WEIGHTLESS, Kind
from .quantity import measured, nothing, rows, stored
from .without import NO_WEIGHTS, WITHOUT, Weighed

QUANTITY = Weighed(
    Measure("params", "parameters", "N", "elements"),
    "Every element of every trained weight is counted: matrices, biases, and the scales and biases of norms. A weight "
    f"that is used in two places is stored once and counted once. {NO_WEIGHTS}",
    {
        **rows(stored, *STORING),
        **rows(nothing, *WEIGHTLESS),
        Kind.OBSERVED: measured("params", stored),
    },
    ("weight", "shape"),
    {"without": WITHOUT},
    weighs=True,
    frozen="Weights that are stored but not trained also count.",
)
