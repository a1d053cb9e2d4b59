"""Trainable parameters: the elements of the weights that training changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..formulas.account import Measure, Term
from ..ledger.adapters import is_adapted
from ..ledger.facts import STORING, WEIGHTLESS, Entry, Kind
from .quantity import Conventions, Counted, Quantity, nothing, rows, stored, unseen


def trained(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """The weights an entry stores, unless they stay as they are."""
    return () if entry.frozen else stored(entry, conventions)


@dataclass(frozen=True)
class TrainableParams(Quantity):
    """The weights that training changes: those of the adapters if a model has any, otherwise all."""

    def format_dependence(self, part: Counted, given: Mapping[str, str]) -> str:
        """Return "" for adapters, which are stored next to the frozen, quantized weights."""
        return "" if is_adapted(part.ledger) else self.by_format


QUANTITY = TrainableParams(
    Measure("trainable-params", "trainable parameters", "N_train", "elements"),
    "Every element of every weight that training changes is counted: of a model with adapters theirs alone, and else "
    "all of them. A weight that is used in two places counts once.",
    {
        **rows(trained, *STORING),
        **rows(nothing, *WEIGHTLESS),
        Kind.OBSERVED: unseen,
    },
    ("weight", "shape"),
    weighs=True,
    by_format="the format decides which weights can be trained; choose adapters, such as --option lora=q_proj",
    frozen="What the model itself never trains is left out.",
    checked="What requires a gradient of the torch class, and of peft's models where there are adapters, is compared "
    "with this formula in the tests.",
)
