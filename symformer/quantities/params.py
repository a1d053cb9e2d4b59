"""Parameters: the elements of all stored weights. A weight that two operations share counts once."""

from __future__ import annotations

from ..formulas.account import Measure
from ..ledger.facts import STORING, WEIGHTLESS, OperationKind
from .exclusions import NO_WEIGHTS, WITHOUT, StorageQuantity
from .quantity import counts_nothing, measured, rows, stored

QUANTITY = StorageQuantity(
    Measure("params", "parameters", "N", "elements"),
    "The number of parameters: every element of every weight, trained or not, is counted, including biases and the "
    f"weights of norms. A weight used in two places is counted once. {NO_WEIGHTS}",
    {
        **rows(stored, *STORING),
        **rows(counts_nothing, *WEIGHTLESS),
        OperationKind.OBSERVED: measured("params", stored),
    },
    ("weight", "shape"),
    {"without": WITHOUT},
    counts_storage=True,
)
