"""Training memory: weights, gradients, the optimizer's state, and the activations kept for the backward pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sympy import Expr, Integer, Min, Mul, ceiling, floor

from ..formulas.account import Line, Measure, Term
from ..language.errors import RuleError
from ..language.sizes import Condition
from ..ledger.facts import STORING, WEIGHTLESS, Entry, Kind, Ledger, Weight
from ..ledger.placement import Placement, evenly, replicas
from .kept import DROPOUT, RECOMPUTE, activation_terms, implemented, kept_conditions
from .kernels import IMPLEMENTATIONS
from .kernels.saves import SINGLE
from .quantity import BOTH, Convention, Conventions, Counted, Quantity, nothing, rows, shared, tally, unseen

BLOCK, SMALLEST = Integer(256), Integer(4096)  # elements to a scale, and of the smallest weight that is quantised
STEP = Integer(4)  # bytes in which torch counts the steps, for each weight apart

# The bytes of one parameter: its weight, which is all that a frozen one has; its gradient; and a master copy in single
# precision where there is one.
RECIPES: dict[str, tuple[tuple[str, int], ...]] = {
    "fp32": (("weight", 4), ("gradient", 4)),
    "bf16": (("weight", 2), ("gradient", 2), ("master weight", 4)),
    "bf16-fp32-gradients": (("weight", 2), ("gradient", 4), ("master weight", 4)),
}

State = Callable[[Weight], tuple[tuple[str, tuple[Expr, ...]], ...]]


def sgd(weight: Weight) -> tuple[tuple[str, tuple[Expr, ...]], ...]:
    """Nothing but the weights themselves."""
    return ()


def momentum(weight: Weight) -> tuple[tuple[str, tuple[Expr, ...]], ...]:
    """One running mean of the gradient."""
    return (("momentum", (*weight.shape, SINGLE)),)


def adam(weight: Weight) -> tuple[tuple[str, tuple[Expr, ...]], ...]:
    """Running means of the gradient and of its square, and the count of steps; AdamW is the same."""
    means = (("first moment", (*weight.shape, SINGLE)), ("second moment", (*weight.shape, SINGLE)))
    return (*means, ("step", (STEP,)))


def adafactor(weight: Weight) -> tuple[tuple[str, tuple[Expr, ...]], ...]:
    """For a matrix one mean for each row and each column, else one for each element; and the count of steps."""
    if len(weight.shape) < 2:
        return (("second moment", (*weight.shape, SINGLE)), ("step", (STEP,)))
    *before, rows, columns = weight.shape
    return (("row means", (*before, rows, SINGLE)), ("column means", (*before, columns, SINGLE)), ("step", (STEP,)))


def adam_8bit(weight: Weight) -> tuple[tuple[str, tuple[Expr, ...]], ...]:
    """Running means of a byte, with a scale in single precision for each block; small weights have those of Adam.

    Dettmers et al. 2022, arXiv:2110.02861, as bitsandbytes allots it since 0.44, in ``Optimizer2State.init_state``: a
    block was 2048 before. It counts its steps outside of tensors.
    """
    elements = Mul(*weight.shape)
    large = Min(1, floor(elements / SMALLEST))  # 1 for a weight that is quantised, 0 for one that is not
    mean = SINGLE * elements - large * (SINGLE * elements - elements - SINGLE * ceiling(elements / BLOCK))
    return (("first moment", (mean,)), ("second moment", (mean,)))


OPTIMIZERS: dict[str, State] = {
    "adam": adam,
    "adam-8bit": adam_8bit,
    "sgd": sgd,
    "momentum": momentum,
    "adafactor": adafactor,
}


# What each stage of ZeRO divides among the ranks that hold a weight, each for tokens of its own; a count of steps is on
# every rank.
DIVIDED: dict[str, tuple[str, ...]] = {
    "off": (),
    "zero1": ("state", "master weight"),
    "zero2": ("state", "master weight", "gradient"),
    "zero3": ("state", "master weight", "gradient", "weight"),
}
# States that are not one number or more for each element: a share of the elements has no like share of them.
UNDIVIDED: dict[str, str] = {
    "adafactor": "a share of a matrix's elements has no like share of the means of its rows and columns",
    "adam-8bit": "whether a rank's share of a weight is quantised, and in how many blocks, depends on how it is cut",
}


def state(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """The bytes that the weights stored in an entry need while they are trained, or while they stay as they are."""
    divided, optimizer = DIVIDED[conventions["data"]], conventions["optimizer"]
    if "state" in divided and optimizer in UNDIVIDED:
        raise RuleError(
            f"optimizer={optimizer} with data={conventions['data']}: {UNDIVIDED[optimizer]}; with ranks that "
            "divide the state, adam, momentum and sgd are known"
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
class TrainMemory(Quantity):
    """What an entry's weights need, by the rules; and what is kept of its tensors, by those of an implementation."""

    @property
    def tables(self) -> Iterable[Mapping[Kind, Any]]:
        """Its own, and one for each implementation."""
        return (self.rules, *IMPLEMENTATIONS.values())

    def check(self, part: Counted, given: Mapping[str, str]) -> None:
        """Megatron's kernels are for half precision, and transformers for the models that it has."""
        chosen = self.choose(given)
        if chosen["implementation"] == "megatron" and chosen["recipe"] == "fp32":
            raise RuleError("implementation=megatron is known in half precision; choose a bf16 recipe")
        implemented(part, chosen["implementation"], " in half precision, or none, which leaves activations out")

    def conditions(self, ledger: Ledger, conventions: Conventions) -> tuple[Condition, ...]:
        """What has to hold for the copies to be copies."""
        shared = evenly(ledger, Placement.of(conventions), data=True) if conventions["data"] != "off" else ()
        return (*kept_conditions(ledger, conventions), *shared)

    def account(self, ledger: Ledger, conventions: Conventions) -> Line:
        """Weights, gradients and optimizer with the entry that stores the weight; activations with their maker."""
        none = conventions["implementation"] == "none"
        dtype = "fp32" if conventions["recipe"] == "fp32" else "bf16"
        kept = {} if none else activation_terms(ledger, {**conventions, "dtype": dtype})
        return tally(
            ledger.root,
            lambda entry: (
                *self.rules[entry.kind](entry, conventions),
                *(replace(term, purpose="activations") for term in kept.get(id(entry), ())),
            ),
        )


_DIVIDED = (
    "are divided among N_dp ranks, N_cp·N_dp with context=on and, of what is no expert, N_ep·N_dp with expert=on; "
    "Rajbhandari et al. 2020 [rajbhandari2020], section 5"
)
QUANTITY = TrainMemory(
    Measure("train-memory", "bytes of training memory", "U_train", "bytes"),
    "Every weight with its gradient and the state that the optimizer keeps for it, and the activations that the named "
    "implementation keeps from one forward pass over B sequences of S tokens. Not counted are the loss, what an "
    "allocator adds, and what is needed for a moment only, such as the part of what is recomputed that is live again "
    "in the backward pass.",
    {
        **rows(state, *STORING),
        **rows(nothing, *WEIGHTLESS),
        Kind.OBSERVED: unseen,
    },
    ("what is kept", "multiplied out"),
    {
        "recipe": Convention(
            {
                "fp32": "single precision throughout: 4 bytes a weight and 4 a gradient",
                "bf16": "half precision with a master copy: 2 bytes a weight, 2 a gradient, 4 a master weight",
                "bf16-fp32-gradients": "half precision with a master copy and gradients of single precision: 2 bytes a "
                "weight, 4 a gradient, 4 a master weight",
            }
        ),
        "optimizer": Convention(
            {
                "adam": "Adam and AdamW: two means of 4 bytes for each element",
                "adam-8bit": "Adam8bit and AdamW8bit of bitsandbytes, no weight excepted: two means of 1 byte for each "
                "element and 4 for each block of 256, or of 4 bytes for each element of a weight below 4096; without "
                "the two tables of 1024 bytes that all weights share",
                "sgd": "SGD, which keeps nothing",
                "momentum": "SGD with momentum: one mean of 4 bytes for each element",
                "adafactor": "Adafactor: one mean of 4 bytes for each row and column of a matrix",
            }
        ),
        "implementation": Convention(
            {
                "eager": "activations of transformers on the CPU in the weights' precision, written out",
                "sdpa": "activations of transformers on the CPU in the weights' precision, with fused attention",
                "megatron": "activations of the kernels of Korthikanti et al. 2022 [korthikanti2022]",
                "none": "no activations are counted: weights, gradients and the optimizer's state alone",
            }
        ),
        "dropout": DROPOUT,
        "recompute": RECOMPUTE,
        "data": Convention(
            {
                "off": "every rank has all of it",
                "zero1": f"the optimizer's state and the master weights {_DIVIDED}.1",
                "zero2": f"the optimizer's state, the master weights and the gradients {_DIVIDED}.2",
                "zero3": f"the optimizer's state, the master weights, the gradients and the weights {_DIVIDED}.3",
            }
        ),
    },
    encoder=BOTH,
    by_format="it counts the bytes of the weights and of their gradients",
    frozen="Of what is never trained there is the weight alone.",
)
