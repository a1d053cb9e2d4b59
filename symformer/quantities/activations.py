"""Activations: the bytes that one named implementation keeps from the forward pass for the backward pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..formulas.account import Line, Measure
from ..formulas.formula import Formula
from ..language.errors import RuleError
from ..language.sizes import Condition
from ..ledger.facts import Kind, Ledger
from .kept import DROPOUT, RECOMPUTE, activation_terms, implemented, kept_conditions
from .kernels import IMPLEMENTATIONS
from .quantity import BOTH, Convention, Conventions, Counted, Quantity, tally

GIVEN = "given every index that it looks up"


@dataclass(frozen=True)
class Activations(Quantity):
    """A quantity whose terms belong to the operation that made a tensor, whoever keeps it.

    Each implementation has a table of its own.
    """

    @property
    def tables(self) -> Iterable[Mapping[Kind, Any]]:
        """One for each implementation."""
        return IMPLEMENTATIONS.values()

    def choose(self, given: Mapping[str, str]) -> dict[str, str]:
        """As everywhere, but Megatron's kernels are for half precision, and have it where nothing is said."""
        half = {"dtype": "fp16"} if given.get("implementation") == "megatron" else {}
        chosen = super().choose({**half, **given})
        if chosen["implementation"] == "megatron" and chosen["dtype"] == "fp32":
            raise RuleError("implementation=megatron is known in half precision; choose dtype=fp16, bf16 or symbolic")
        return chosen

    def check(self, part: Counted, given: Mapping[str, str]) -> None:
        """What transformers keeps is known of models that transformers has."""
        implemented(part, self.choose(given)["implementation"])

    def conditions(self, ledger: Ledger, conventions: Conventions) -> tuple[Condition, ...]:
        """What has to hold for the copies to be copies."""
        return kept_conditions(ledger, conventions)

    def states(self, formula: Formula) -> str:
        """What is counted, and which indices the model is not given."""
        said = super().states(formula)
        held = any(line.entry and line.entry.held for _, line in formula.root.leaves())
        return said.replace(GIVEN, f"{GIVEN} but those of an image's places, which it holds") if held else said

    def account(self, ledger: Ledger, conventions: Conventions) -> Line:
        """What every entry's tensors come to. Raises RuleError for a kind that has no rule."""
        terms = activation_terms(ledger, conventions)
        return tally(ledger.root, lambda entry: terms.get(id(entry), ()))


QUANTITY = Activations(
    Measure("activations", "bytes of activations", "U_act", "bytes"),
    "The bytes kept from one forward pass over B sequences of S tokens for the backward pass, by the named "
    f"implementation. The model is {GIVEN}, and fills no cache. A tensor that several "
    "operations keep is counted once, with the operation that made it. Left out are the weights, what is live for a "
    "moment only (in the backward pass, the activations of the one part that is being recomputed) and the random state "
    "that torch notes for each part.",
    {},
    ("tensor", "multiplied out"),
    {
        "implementation": Convention(
            {
                "eager": "transformers on the CPU, with attention written out",
                "sdpa": "transformers on the CPU, with torch's fused attention",
                "megatron": "the kernels of Korthikanti et al. 2022 [korthikanti2022], section 4",
            }
        ),
        "dropout": DROPOUT,
        "recompute": RECOMPUTE,
        "dtype": Convention(
            {
                "fp32": "single precision, 4 bytes an element",
                "bf16": "2 bytes an element; what the model casts to single precision is a copy of 4",
                "fp16": "2 bytes an element; what the model casts to single precision is a copy of 4",
                "symbolic": "W bytes an element; what the model casts to single precision is a copy of 4",
            }
        ),
    },
    by_format="layers with quantized weights keep other tensors for the backward pass",
    encoder=BOTH,
)
