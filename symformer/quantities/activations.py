"""Activations: the bytes that one named implementation keeps from the forward pass for the backward pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..account import Line, Measure
from ..ledger import Ledger
from ..sizes import Condition
from .kept import DROPOUT, activation_terms, implemented, kept_conditions
from .quantity import Convention, Conventions, Quantity, tally


@dataclass(frozen=True)
class Activations(Quantity):
    """A quantity whose terms belong to the operation that made a tensor, whoever keeps it."""

    def check(self, library: str, given: Mapping[str, str]) -> None:
        """What transformers keeps is known of models that transformers has."""
        implemented(library, self.choose(given)["implementation"])

    def conditions(self, ledger: Ledger, conventions: Conventions) -> tuple[Condition, ...]:
        """What has to hold for the copies to be copies."""
        return kept_conditions(ledger, conventions)

    def account(self, ledger: Ledger, conventions: Conventions) -> Line:
        """What every entry's tensors come to. Raises RuleError for a kind that has no rule."""
        terms = activation_terms(ledger, conventions, self.measure)
        return tally(ledger.root, lambda entry: terms.get(id(entry), ()))


QUANTITY = Activations(
    Measure("activations", "bytes of activations", "K", "bytes"),
    "The bytes kept from one forward pass over B sequences of S tokens for the backward pass, by the named "
    "implementation. A tensor that several operations keep is counted once, with the operation "
    "that made it. Weights are left out.",
    {},
    ("tensor", "multiplied out"),
    {
        "implementation": Convention(
            {
                "eager": "transformers in single precision on the CPU, with attention written out",
                "sdpa": "transformers in single precision on the CPU, with torch's fused attention",
                "megatron": "the kernels of Korthikanti et al. 2022, arXiv:2205.05198, section 4, in half precision",
            }
        ),
        "dropout": DROPOUT,
    },
)
