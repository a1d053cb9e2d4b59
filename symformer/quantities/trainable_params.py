"""Trainable parameters: the elements of all weights that training updates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ..formulas.account import Measure, Term
from ..ledger.adapters import is_adapted
from ..ledger.facts import STORING, WEIGHTLESS, Entry, OperationKind
from .quantity import Conventions, Countable, Quantity, counts_nothing, refuse_observed, rows, stored


def trained(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the weights an entry stores, unless they are frozen."""
    return () if entry.frozen else stored(entry, conventions)


@dataclass(frozen=True)
class TrainableParams(Quantity):
    """The weights that training updates: those of the adapters if a model has any, otherwise all."""

    of_run: ClassVar[bool] = False

    def format_dependence(self, part: Countable, given: Mapping[str, str]) -> str:
        """Return "" for adapters, which are stored next to the frozen, quantized weights."""
        return "" if is_adapted(part.ledger) else self.by_format


QUANTITY = TrainableParams(
    Measure("trainable-params", "trainable parameters", "N_train", "elements"),
    "The number of parameters that training updates: only those of the adapters if the model has any, otherwise all of "
    "them. A weight used in two places counts once.",
    {
        **rows(trained, *STORING),
        **rows(counts_nothing, *WEIGHTLESS),
        OperationKind.OBSERVED: refuse_observed,
    },
    ("weight", "shape"),
    counts_storage=True,
    by_format="the format decides which weights can be trained; choose adapters, such as --option lora=q_proj",
    frozen="Weights that the model never trains are excluded.",
    checked_by="The tests compare this formula with the parameters that require a gradient in the torch class and, "
    "with adapters, in peft's models.",
)
