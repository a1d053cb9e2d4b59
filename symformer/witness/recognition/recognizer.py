"""Reconstruction of a ledger's operations, with their ordinary rules, from observed parameters and products.

A quantity of the result is accepted only if the rules match torch's counts row by row at fresh sizes.
"""

from __future__ import annotations

from ...catalogue.measured_model import Class
from ...ledger.facts import ONE, Entry, OperationKind, Tensor, Weight
from ..dataflow_roles import ConvolutionProduct, LinearProduct, Scores, SelectedProduct, WeightedValues
from .attention_products import attention
from .matrix_products import experts, linear
from .observations import Observations, Row, repeat_operation, split_copies, star
from .other_products import convolution, product
from .tables_and_norms import norm, table


class Recognizer:
    """The rows of a trace, read as operations with the help of some observed runs."""

    def __init__(self, sights: Observations) -> None:
        self.sights = sights
        self.order: dict[str, float] = {}
        for name, place in sights.all[-1].seen.order.items():
            self.order.setdefault(star(name), place)

    def rows(self) -> tuple[Row, ...]:
        """Return every row as an operation; products that are not identified stay as observed."""
        rows: list[tuple[float, Row]] = []
        stored, products = self.sights.stored, self.sights.products
        for path, classes in self.sights.weights.items():
            for each in classes:
                found = table(self.sights, each) or norm(self.sights, each)
                rows += [(self._place(path), row) for row in found]
        for row in sorted(products.counts, key=self._ran):
            rows += [(self._ran(row), found) for found in self._product(row)]
        for path, classes in self.sights.weights.items():
            for each in classes:
                if each not in self.sights.used:
                    owner = path if path.endswith("*") else path.rpartition(".")[0]
                    held = Weight(*each)
                    alone = Entry(
                        OperationKind.PARAMETER, owner or path, (), Tensor(path, ()), weights=(held,), module=True
                    )
                    rows.append((self._place(path), (stored.counts[each], alone)))
        return tuple(row for _, row in sorted(rows, key=lambda placed: placed[0]))

    def _place(self, path: str) -> float:
        return self.order.get(path, len(self.order))

    def _ran(self, row: Class) -> float:
        """Return when a product first ran in the last run."""
        last = self.sights.all[-1]
        places = [last.seen.order[key[0]] for sight, key in self.sights.found[row] if sight is last]
        return min(places, default=len(self.order)) + 0.5

    def _product(self, row: Class) -> list[Row]:
        path, factors = row
        if found := self._recognised(row):
            rows = [repeat_operation(each, factors[0]) for each in found]
            idle = self.sights.idle(row)
            return [part for each in rows for part in split_copies(each, idle)] if idle else rows
        output = Tensor(path, tuple(dim for dim in factors if dim != 1), grad=ONE)
        observed = Entry(OperationKind.OBSERVED, path, (), output, measured=self.sights.products.quantity)
        return [(self.sights.products.counts[row], observed)]

    def _recognised(self, row: Class) -> list[Row]:
        """Return the operation of a product, run once, or [] if it is unknown."""
        entry = None
        match role := self.sights.role(row):
            case LinearProduct():
                entry = linear(self.sights, row, role)
            case SelectedProduct() if row[1][0] == 1:
                entry = experts(self.sights, row, role)
            case ConvolutionProduct():
                entry = convolution(self.sights, row, role)
            case Scores() | WeightedValues():
                if found := attention(self.sights, row, role):
                    return found
        entry = entry or product(self.sights, row)
        return [(self.sights.products.counts[row], entry)] if entry is not None else []
