"""Weight memory: the bytes of the weights in a named format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..formulas.account import Line, Measure
from ..ledger.facts import STORING, WEIGHTLESS, Ledger, OperationKind
from .quantity import BY_LAYOUT, Convention, Conventions, Quantity, counts_nothing, measured, rows, stored, tally
from .stored_format import InFormat
from .weight_formats import MEANINGS, UNUSUAL


@dataclass(frozen=True)
class WeightMemory(InFormat, Quantity):
    """The bytes of stored weights, by the rules of a format."""

    of_run: ClassVar[bool] = False

    def counts_magnitudes(self, conventions: Conventions) -> bool:
        """Return True: nothing but stored weights is counted."""
        return True

    def account(self, ledger: Ledger, conventions: Conventions) -> Line:
        """Return the bytes of the weights of every entry."""
        kept = self.stored(ledger, conventions).terms
        return tally(ledger.root, lambda entry: kept.get(id(entry), ()))


QUANTITY = WeightMemory(
    Measure("weight-memory", "bytes of weights", "U_weights", "bytes"),
    "The bytes of all stored weights in the named format: their codes with the scales, zero points and tables that the "
    "format needs. A weight used in two places is stored once. Headers and tokenizers of files are excluded.",
    {
        **rows(stored, *STORING),
        **rows(counts_nothing, *WEIGHTLESS),
        OperationKind.OBSERVED: measured("params", stored),
    },
    ("tensor", "factors"),
    {"weights": Convention(MEANINGS, unusual=UNUSUAL)},
    checked_by="torch has no counter for this. The tests compare the bytes of each format with the buffers of the "
    "library that writes it, and with published sizes of checkpoints.",
    basis=BY_LAYOUT,
    by_format="it counts the bytes of the weights",
    derived_from="params",
)
