"""Training memory: weights, gradients, optimizer state, and the activations saved for the backward pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sympy import Integer

from ..formulas.account import Line, Measure, Term
from ..formulas.formula import Formula
from ..language.errors import RuleError
from ..language.sizes import Condition
from ..ledger.adapters import is_adapted
from ..ledger.facts import STORING, WEIGHTLESS, Entry, Ledger, OperationKind
from ..ledger.placement import Placement, even_sharing_conditions, replicas
from .kernels import IMPLEMENTATIONS
from .kernels.routed_experts import EXPERTS
from .optimizers import NUMBER_BYTES, OPTIMIZERS, updated
from .quantity import (
    BOTH,
    Convention,
    Conventions,
    Countable,
    counts_nothing,
    refuse_observed,
    rows,
    shared,
    tally,
)
from .saved_tensors import (
    BUFFERS,
    DROPOUT,
    LOSS,
    RECOMPUTE,
    activation_terms,
    check_implemented,
    saved_conditions,
    saved_notes,
    without_recomputation,
)
from .stored_format import WEIGHTS, InFormat
from .weight_formats import ELEMENT_BYTES, MEANINGS, UNUSUAL, StoredWeights

# The bytes of one parameter: its weight (all that a frozen one needs), its gradient, and its float32 master copy if
# there is one.
RECIPES: dict[str, tuple[tuple[str, int], ...]] = {
    "fp32": (("weight", 4), ("gradient", 4)),
    "bf16": (("weight", 2), ("gradient", 2), ("master weight", 4)),
    "bf16-fp32-gradients": (("weight", 2), ("gradient", 4), ("master weight", 4)),
    "pure-bf16": (("weight", 2), ("gradient", 2)),
}

USUAL = ("adam", "adam-8bit", "sgd", "momentum", "adafactor")  # the optimizers that are compared with each other
OF_RECIPE = "recipe"  # the format of frozen weights with the dtype of the recipe
ON_DEVICE, TO_HOST, ON_HOST = "off", "optimizer", "host"
OFFLOADED = ("state", "master weight")
# What each ZeRO stage shards among the ranks that hold the same weight and process different tokens. Every rank has
# its own step counter.
DIVIDED: dict[str, tuple[str, ...]] = {
    "off": (),
    "zero1": ("state", "master weight"),
    "zero2": ("state", "master weight", "gradient"),
    "zero3": ("state", "master weight", "gradient", "weight"),
}


def state(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the bytes of an entry's weights with their gradients and optimizer state; of weights alone if frozen."""
    divided, optimizer = DIVIDED[conventions["data"]], conventions["optimizer"]
    if entry.frozen and conventions.get(WEIGHTS, OF_RECIPE) != OF_RECIPE:  # the format determines its bytes
        return ()
    if "state" in divided and OPTIMIZERS[optimizer].undivided:
        raise RuleError(
            f"optimizer={optimizer} with data={conventions['data']}: {OPTIMIZERS[optimizer].undivided}; sharding is "
            "supported for optimizers with one number per element, such as adam, momentum and sgd"
        )
    ranks = replicas(entry.kind, Placement.of(conventions), data=True)
    recipe = dict(RECIPES[conventions["recipe"]])
    width = recipe.get("master weight", recipe["weight"])  # bytes of an element that the optimizer updates
    offload = conventions.get("offload", ON_DEVICE)
    terms: list[Term] = []
    for weight in entry.weights:
        for what, size in [*recipe.items()][: 1 if entry.frozen else None]:
            if not is_counted(what, offload):
                continue
            share = (*((1 / ranks,) if what in divided else ()), *shared(weight))
            factors = (*weight.shape, Integer(size), *share)
            terms.append(Term(f"{weight.path} ({what})", factors, purpose=f"{what}s", weight=weight.path))
        if entry.frozen or not is_counted("state", offload):
            continue
        for tensor in OPTIMIZERS[optimizer].state(updated(entry, weight, width)):
            share = (*((1 / ranks,) if "state" in divided and not tensor.once else ()), *shared(weight))
            kept = (*tensor.factors, *share)
            terms.append(Term(f"{weight.path} ({tensor.name})", kept, purpose="optimizer's state", weight=weight.path))
    return tuple(terms)


def _with_dtype(conventions: Conventions) -> dict[str, str]:
    """Return the conventions with the dtype of the activations, the same as the dtype of the weights."""
    return {**conventions, "dtype": "fp32" if conventions["recipe"] == "fp32" else "bf16"}


def is_counted(what: str, offload: str) -> bool:
    """Return True if this part of a weight's bytes is in the memory that is counted: the device's or the host's."""
    return offload == ON_DEVICE or (what in OFFLOADED) == (offload == ON_HOST)


@dataclass(frozen=True)
class TrainMemory(InFormat):
    """Training memory: state of the weights by this table of rules, activations by the rules of an implementation."""

    @property
    def tables(self) -> Iterable[Mapping[OperationKind, Any]]:
        """Its own table and one per implementation."""
        return (self.rules, *IMPLEMENTATIONS.values())

    def check(self, part: Countable, given: Mapping[str, str]) -> None:
        """Raise RuleError if the implementation does not support the recipe or the model."""
        chosen = self.choose(given)
        if chosen["implementation"] == "megatron" and chosen["recipe"] == "fp32":
            raise RuleError("implementation=megatron needs half precision; choose a bf16 recipe")
        check_implemented(part, chosen["implementation"], " in half precision, or none, which excludes activations")
        if reason := OPTIMIZERS[chosen["optimizer"]].whole:
            split = [f"{name}={chosen[name]}" for name in ("tensor", "expert") if name in chosen]
            if is_adapted(part.ledger) or split:
                given_with = " and ".join(split) or "adapters"
                raise RuleError(
                    f"optimizer={chosen['optimizer']} with {given_with}: {reason}; choose another optimizer"
                )
        if (form := chosen.get(WEIGHTS, OF_RECIPE)) == OF_RECIPE:
            return
        if not is_adapted(part.ledger):
            raise RuleError(f"weights={form}: stored weights are not trained in this format; add an adapter: lora=all")
        if chosen["data"] == "zero3":
            raise RuleError(f"weights={form} with data=zero3: how ranks shard this format is not supported")
        if form not in ELEMENT_BYTES and chosen["implementation"] != "none":
            raise RuleError(
                f"weights={form}: the tensors that layers with quantized weights save are not supported; choose "
                "implementation=none, which excludes activations"
            )

    def counts_magnitudes(self, conventions: Conventions) -> bool:
        """Return True if activations are excluded."""
        return conventions["implementation"] == "none"

    def takes_own_format(self, part: Countable) -> bool:
        """Return True for adapters, which are trained over weights in any format."""
        return is_adapted(part.ledger)

    def stored(self, ledger: Ledger, conventions: Conventions) -> StoredWeights:
        """Return the bytes of the frozen weights in their format; none with the dtype of the recipe."""
        if conventions.get(WEIGHTS, OF_RECIPE) == OF_RECIPE:
            return StoredWeights({})
        found = super().stored(ledger, conventions)
        frozen = {id(entry) for _, entry in ledger if entry.frozen}
        return replace(found, terms={entry: terms for entry, terms in found.terms.items() if entry in frozen})

    def conditions(self, ledger: Ledger, conventions: Conventions) -> tuple[Condition, ...]:
        """Return the conditions for counting copies as transformers makes them, and for even sharding."""
        shared = (
            even_sharing_conditions(ledger, Placement.of(conventions), data=True)
            if conventions["data"] != "off"
            else ()
        )
        return (*super().conditions(ledger, conventions), *saved_conditions(ledger, _with_dtype(conventions)), *shared)

    def statement_for(self, formula: Formula) -> str:
        """Return the statement; a convention that is printed states whether the loss is counted."""
        said = without_recomputation(super().statement_for(formula), formula)
        if formula.conventions["implementation"] == "none":
            said = f"{STATE} Excluded: the activations, the loss, allocator overhead and temporary buffers."
        return said.replace("the loss, allocator", "allocator") if "loss" in self.shown_conventions(formula) else said

    def meaning_for(self, name: str, formula: Formula) -> str:
        """Return the meaning of a convention, with the bytes of the optimizer's numbers in the recipe of a formula."""
        bytes_ = 2 if formula.conventions["recipe"] == "pure-bf16" else 4
        return super().meaning_for(name, formula).replace(NUMBER_BYTES, f"({bytes_} bytes per number)")

    def shown_conventions(self, formula: Formula) -> dict[str, str]:
        """Return the conventions of a formula; without activations, the conventions of the loss do not matter."""
        chosen, shown = formula.conventions, super().shown_conventions(formula)
        if chosen["implementation"] == "none" or chosen.get("offload") == ON_HOST:
            return {name: value for name, value in shown.items() if name in chosen}
        return shown

    def notes_for(self, formula: Formula) -> list[str]:
        """Return the sentences that apply because of the operations in a formula, and of its recipe."""
        chosen = formula.conventions
        if chosen["implementation"] in ("none", "megatron"):
            return super().notes_for(formula)
        return [*super().notes_for(formula), *saved_notes(formula, chosen["recipe"] != "fp32")]

    def account(self, ledger: Ledger, conventions: Conventions) -> Line:
        """Return the account: a weight's bytes belong to the entry that stores it, an activation's to its producer."""
        host = conventions.get("offload") == ON_HOST
        none = conventions["implementation"] == "none" or host
        kept = {} if none else activation_terms(ledger, _with_dtype(conventions))
        frozen = {} if host else self.stored(ledger, conventions).terms
        return tally(
            ledger.root,
            lambda entry: (
                *frozen.get(id(entry), ()),
                *self.rules[entry.kind](entry, conventions),
                *(replace(term, purpose="activations") for term in kept.get(id(entry), ())),
            ),
        )


_DIVIDED = (
    "are sharded over N_dp ranks (times N_cp with context=on; times N_ep with expert=on, except for experts); "
    "Rajbhandari et al. 2020 [rajbhandari2020], section 5"
)
STATE = "The bytes of the state that training needs: every weight with its gradient and optimizer state."
QUANTITY = TrainMemory(
    Measure("train-memory", "bytes of training memory", "U_train", "bytes"),
    "The bytes needed to train: every weight with its gradient and optimizer state, and the activations that the named "
    "implementation saves during one forward pass over B sequences of S tokens. Gradients that are accumulated over "
    f"several such passes need no more memory. Excluded: the loss, allocator overhead and {BUFFERS}.",
    {
        **rows(state, *STORING),
        **rows(counts_nothing, *WEIGHTLESS),
        OperationKind.OBSERVED: refuse_observed,
    },
    ("tensor", "factors"),
    {
        "recipe": Convention(
            {
                "fp32": "float32 throughout; per parameter, 4 bytes for the weight and 4 for the gradient",
                "bf16": "bfloat16 with float32 master weights; per parameter, 2 bytes for the weight, 2 for the "
                "gradient and 4 for the master weight",
                "bf16-fp32-gradients": "bfloat16 with float32 gradients and master weights; per parameter, 2 bytes for "
                "the weight, 4 for the gradient and 4 for the master weight",
                "pure-bf16": "bfloat16 without master weights; per parameter, 2 bytes for the weight and 2 for the "
                "gradient",
            },
            unusual=["pure-bf16"],
        ),
        WEIGHTS: Convention(
            {
                OF_RECIPE: "frozen weights have the dtype of the recipe",
                **{name: f"frozen weights: {meaning}" for name, meaning in MEANINGS.items()},
            },
            hidden_by_default=True,
            unusual=UNUSUAL,
        ),
        "optimizer": Convention(
            {name: each.meaning for name, each in OPTIMIZERS.items()},
            unusual=[name for name in OPTIMIZERS if name not in USUAL],
        ),
        "implementation": Convention(
            {
                "eager": "activations saved by transformers on the CPU with eager attention, in the weights' dtype",
                "sdpa": "activations saved by transformers on the CPU with fused attention, in the weights' dtype",
                "megatron": "activations saved by the kernels of Korthikanti et al. 2022 [korthikanti2022]",
                "none": "activations are excluded: weights, gradients and optimizer state only",
            }
        ),
        "dropout": DROPOUT,
        "moe": EXPERTS,
        "recompute": RECOMPUTE,
        "loss": LOSS,
        "offload": Convention(
            {
                ON_DEVICE: "nothing is in the memory of the host",
                TO_HOST: "the optimizer state and the master weights are in the memory of the host and not counted",
                ON_HOST: "only the bytes in the memory of the host: the optimizer state and the master weights",
            },
            hidden_by_default=True,
            unusual=[TO_HOST, ON_HOST],
        ),
        "data": Convention(
            {
                "off": "nothing is sharded over the data-parallel ranks",
                "zero1": f"the optimizer state and the master weights {_DIVIDED}.1",
                "zero2": f"the optimizer state, the master weights and the gradients {_DIVIDED}.2",
                "zero3": f"the optimizer state, the master weights, the gradients and the weights {_DIVIDED}.3",
            }
        ),
    },
    encoder=BOTH,
    by_format="it counts the bytes of the weights and of their gradients",
    frozen="Weights that are never trained have no gradient and no optimizer state.",
)
