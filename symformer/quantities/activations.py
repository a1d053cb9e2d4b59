"""Activation memory: the bytes that one named implementation saves during the forward pass for the backward pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..formulas.account import Line, Measure
from ..formulas.formula import Formula
from ..language.errors import RuleError
from ..language.sizes import Condition
from ..ledger.facts import Ledger, OperationKind
from .kernels import IMPLEMENTATIONS
from .kernels.routed_experts import EXPERTS
from .quantity import BOTH, Convention, Conventions, Countable, Quantity, tally
from .saved_tensors import (
    BUFFERS,
    CHECKPOINTED,
    DROPOUT,
    LOSS,
    RECOMPUTE,
    activation_terms,
    check_implemented,
    saved_conditions,
    saved_notes,
    without_recomputation,
)

GIVEN = "All lookup indices are inputs of the model"


@dataclass(frozen=True)
class Activations(Quantity):
    """Activation memory, with one table of rules per implementation.

    The bytes of a saved tensor belong to the operation that produced it, even if another operation saves it.
    """

    @property
    def tables(self) -> Iterable[Mapping[OperationKind, Any]]:
        """One table per implementation."""
        return IMPLEMENTATIONS.values()

    def choose(self, given: Mapping[str, str]) -> dict[str, str]:
        """Return the value of every convention; with implementation=megatron the default dtype is fp16.

        Raises OptionError, UnknownNameError, and RuleError for implementation=megatron with dtype=fp32.
        """
        half = {"dtype": "fp16"} if given.get("implementation") == "megatron" else {}
        chosen = super().choose({**half, **given})
        if chosen["implementation"] == "megatron" and chosen["dtype"] == "fp32":
            raise RuleError("implementation=megatron needs half precision; choose dtype=fp16, bf16 or symbolic")
        return chosen

    def check(self, part: Countable, given: Mapping[str, str]) -> None:
        """Raise RuleError if transformers does not have the model and the implementation needs it."""
        check_implemented(part, self.choose(given)["implementation"])

    def conditions(self, ledger: Ledger, conventions: Conventions) -> tuple[Condition, ...]:
        """Return the conditions for counting copies as transformers makes them."""
        return saved_conditions(ledger, conventions)

    def statement_for(self, formula: Formula) -> str:
        """Return the statement; it names the image-position indices that the model stores itself, if any."""
        said = without_recomputation(super().statement_for(formula), formula)
        held = any(line.entry and line.entry.held for _, line in formula.root.leaves())
        return said.replace(GIVEN, f"{GIVEN} except those of image positions, which it stores") if held else said

    def notes_for(self, formula: Formula) -> list[str]:
        """Return the sentences that apply because of the operations in a formula, and of its dtype."""
        chosen = formula.conventions
        if chosen["implementation"] == "megatron":
            return super().notes_for(formula)
        return [*super().notes_for(formula), *saved_notes(formula, chosen["dtype"] != "fp32")]

    def account(self, ledger: Ledger, conventions: Conventions) -> Line:
        """Return the bytes of every entry's saved tensors. Raises RuleError for an unsupported operation."""
        terms = activation_terms(ledger, conventions)
        return tally(ledger.root, lambda entry: terms.get(id(entry), ()))


QUANTITY = Activations(
    Measure("activations", "bytes of activations", "U_act", "bytes"),
    "The bytes of activations that the named implementation saves for the backward pass during one forward pass over B "
    f"sequences of S tokens. {GIVEN}. No KV cache is filled. A tensor that several operations save is counted once, "
    f"with the operation that produced it. Excluded: the weights, {BUFFERS} and {CHECKPOINTED}.",
    {},
    ("tensor", "factors"),
    {
        "implementation": Convention(
            {
                "eager": "transformers on the CPU with eager attention",
                "sdpa": "transformers on the CPU with torch's fused attention",
                "megatron": "the kernels of Korthikanti et al. 2022 [korthikanti2022], section 4",
            }
        ),
        "dropout": DROPOUT,
        "moe": EXPERTS,
        "recompute": RECOMPUTE,
        "loss": LOSS,
        "dtype": Convention(
            {
                "fp32": "4 bytes per element",
                "bf16": "2 bytes per element; copies that the model casts to float32 have 4 bytes per element",
                "fp16": "2 bytes per element; copies that the model casts to float32 have 4 bytes per element",
                "symbolic": "W bytes per element; copies that the model casts to float32 have 4 bytes per element",
            }
        ),
    },
    by_format="layers with quantized weights save different tensors for the backward pass",
    encoder=BOTH,
)
