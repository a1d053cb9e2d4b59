"""Training memory: weights, gradients, optimizer state, and the activations saved for the backward pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sympy import Expr, Integer, Min, Mul, ceiling, floor

from ..formulas.account import Line, Measure, Term
from ..language.errors import RuleError
from ..language.sizes import Condition
from ..ledger.adapters import is_adapted
from ..ledger.facts import STORING, WEIGHTLESS, Entry, Ledger, OperationKind, Weight
from ..ledger.placement import Placement, even_sharing_conditions, replicas
from .kernels import IMPLEMENTATIONS
from .kernels.saves import SINGLE
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
from .saved_tensors import DROPOUT, RECOMPUTE, activation_terms, check_implemented, saved_conditions
from .stored_format import WEIGHTS, InFormat
from .weight_formats import ELEMENT_BYTES, MEANINGS, UNUSUAL, StoredWeights

BLOCK, SMALLEST = Integer(256), Integer(4096)  # elements per scale; elements of the smallest quantized weight
STEP = Integer(4)  # bytes of torch's step counter, one per weight

# The bytes of one parameter: its weight (all that a frozen one needs), its gradient, and its float32 master copy if
# there is one.
RECIPES: dict[str, tuple[tuple[str, int], ...]] = {
    "fp32": (("weight", 4), ("gradient", 4)),
    "bf16": (("weight", 2), ("gradient", 2), ("master weight", 4)),
    "bf16-fp32-gradients": (("weight", 2), ("gradient", 4), ("master weight", 4)),
}

OF_RECIPE = "recipe"  # the format of frozen weights with the dtype of the recipe
State = Callable[[Weight], tuple[tuple[str, tuple[Expr, ...]], ...]]


def sgd(weight: Weight) -> tuple[tuple[str, tuple[Expr, ...]], ...]:
    """Return no state: plain SGD has none."""
    return ()


def momentum(weight: Weight) -> tuple[tuple[str, tuple[Expr, ...]], ...]:
    """Return one running mean of the gradient."""
    return (("momentum", (*weight.shape, SINGLE)),)


def adam(weight: Weight) -> tuple[tuple[str, tuple[Expr, ...]], ...]:
    """Return running means of the gradient and of its square, and the step counter; AdamW is the same."""
    means = (("first moment", (*weight.shape, SINGLE)), ("second moment", (*weight.shape, SINGLE)))
    return (*means, ("step", (STEP,)))


def adafactor(weight: Weight) -> tuple[tuple[str, tuple[Expr, ...]], ...]:
    """Return one mean per row and per column of a matrix, or one per element otherwise, and the step counter."""
    if len(weight.shape) < 2:
        return (("second moment", (*weight.shape, SINGLE)), ("step", (STEP,)))
    *before, rows, columns = weight.shape
    return (("row means", (*before, rows, SINGLE)), ("column means", (*before, columns, SINGLE)), ("step", (STEP,)))


def adam_8bit(weight: Weight) -> tuple[tuple[str, tuple[Expr, ...]], ...]:
    """Return running means of 1 byte per element with a float32 scale per block; small weights use Adam's state.

    Dettmers et al. 2022, arXiv:2110.02861, as allocated by bitsandbytes >= 0.44 in ``Optimizer2State.init_state``;
    earlier versions use blocks of 2048. The step counter is not a tensor.
    """
    elements = Mul(*weight.shape)
    large = Min(1, floor(elements / SMALLEST))  # 1 for a quantized weight, otherwise 0
    mean = SINGLE * elements - large * (SINGLE * elements - elements - SINGLE * ceiling(elements / BLOCK))
    return (("first moment", (mean,)), ("second moment", (mean,)))


OPTIMIZERS: dict[str, State] = {
    "adam": adam,
    "adam-8bit": adam_8bit,
    "sgd": sgd,
    "momentum": momentum,
    "adafactor": adafactor,
}


# What each ZeRO stage shards among the ranks that hold the same weight and process different tokens. Every rank has
# its own step counter.
DIVIDED: dict[str, tuple[str, ...]] = {
    "off": (),
    "zero1": ("state", "master weight"),
    "zero2": ("state", "master weight", "gradient"),
    "zero3": ("state", "master weight", "gradient", "weight"),
}
# Optimizer states that are not per element, so they cannot be sharded like the elements.
UNDIVIDED: dict[str, str] = {
    "adafactor": "the row and column means of a matrix cannot be sharded like its elements",
    "adam-8bit": "whether a shard of a weight is quantized, and in how many blocks, depends on how the weight is cut",
}


def state(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the bytes of an entry's weights with their gradients and optimizer state; of weights alone if frozen."""
    divided, optimizer = DIVIDED[conventions["data"]], conventions["optimizer"]
    if entry.frozen and conventions.get(WEIGHTS, OF_RECIPE) != OF_RECIPE:  # its bytes are those of the format
        return ()
    if "state" in divided and optimizer in UNDIVIDED:
        raise RuleError(
            f"optimizer={optimizer} with data={conventions['data']}: {UNDIVIDED[optimizer]}; sharding the state is "
            "supported for adam, momentum and sgd"
        )
    ranks = replicas(entry.kind, Placement.of(conventions), data=True)
    terms: list[Term] = []
    for weight in entry.weights:
        for what, size in RECIPES[conventions["recipe"]][: 1 if entry.frozen else None]:
            share = (*((1 / ranks,) if what in divided else ()), *shared(weight))
            factors = (*weight.shape, Integer(size), *share)
            terms.append(Term(f"{weight.path} ({what})", factors, purpose=f"{what}s", weight=weight.path))
        for what, factors in () if entry.frozen else OPTIMIZERS[optimizer](weight):
            share = (*((1 / ranks,) if "state" in divided and what != "step" else ()), *shared(weight))
            kept = (*factors, *share)
            terms.append(Term(f"{weight.path} ({what})", kept, purpose="optimizer's state", weight=weight.path))
    return tuple(terms)


@dataclass(frozen=True)
class TrainMemory(InFormat):
    """Training memory: state of the weights by this table of rules, activations by those of an implementation."""

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
        return (*super().conditions(ledger, conventions), *saved_conditions(ledger, conventions), *shared)

    def account(self, ledger: Ledger, conventions: Conventions) -> Line:
        """Return the account: a weight's bytes belong to the entry that stores it, an activation's to its producer."""
        none = conventions["implementation"] == "none"
        dtype = "fp32" if conventions["recipe"] == "fp32" else "bf16"
        kept = {} if none else activation_terms(ledger, {**conventions, "dtype": dtype})
        frozen = self.stored(ledger, conventions).terms
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
QUANTITY = TrainMemory(
    Measure("train-memory", "bytes of training memory", "U_train", "bytes"),
    "The bytes needed to train: every weight with its gradient and optimizer state, and the activations that the named "
    "implementation saves during one forward pass over B sequences of S tokens. Excluded: the loss, allocator overhead "
    "and temporary buffers, such as activations while they are recomputed in the backward pass.",
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
            }
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
            {
                "adam": "Adam and AdamW: two moments of 4 bytes per element, and a step counter of 4 bytes per weight",
                "adam-8bit": "Adam8bit and AdamW8bit of bitsandbytes, for every weight: two moments of 1 byte per "
                "element, each with 4 bytes per block of 256 elements; weights below 4096 elements have moments of 4 "
                "bytes per element; excludes two tables of 1024 bytes that all weights share",
                "sgd": "SGD without momentum: no state",
                "momentum": "SGD with momentum: one moment of 4 bytes per element",
                "adafactor": "Adafactor: one moment of 4 bytes per row and per column of a matrix, or per element of "
                "any other weight, and a step counter of 4 bytes per weight",
            }
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
        "recompute": RECOMPUTE,
        "data": Convention(
            {
                "off": "no sharding: every rank stores all weights, gradients and optimizer state",
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
