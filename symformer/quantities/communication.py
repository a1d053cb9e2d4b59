"""Communication: the bytes that one rank's collectives move in one step of training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sympy import Expr, Integer

from ..account import Measure, Term
from ..ledger import Entry, Kind, Ledger, Weight
from ..placement import evenly
from ..sizes import Condition
from ..symbols import N_cp, N_dp, N_ep, N_tp
from .generation import DTYPE, SIZES
from .quantity import Convention, Conventions, Quantity, nothing, rows, unseen

# What follows from one move, forward and backward: the collective, its ranks (none for a message from one rank to
# another), and whether its tensor is what goes in or what comes out, whichever is the whole.
Moves = tuple[tuple[str, Expr | None, str], ...]
FORWARD: Mapping[str, Moves] = {
    "copy": (),
    "all-reduce": (("all-reduce", N_tp, "output"),),
    "all-gather": (("all-gather", N_tp, "output"),),
    "reduce-scatter": (("reduce-scatter", N_tp, "input"),),
    "ring": (("all-gather", N_cp, "output"),),
    "all-to-all": (("all-to-all", N_ep, "output"),),
    "send": (("send", None, "output"),),
    "receive": (),
}
# Korthikanti et al. 2022, section 4.2.2: what a linear reads is kept in pieces, and gathered again for the gradient of
# its weight. Keys and values that went round go round again.
BACKWARD: Mapping[str, Moves] = {
    "copy": (("all-reduce", N_tp, "input"),),
    "all-reduce": (),
    "all-gather": (("all-gather again", N_tp, "output"), ("reduce-scatter of the gradient", N_tp, "output")),
    "reduce-scatter": (("all-gather of the gradient", N_tp, "input"),),
    "ring": (("all-gather again", N_cp, "output"), ("reduce-scatter of the gradient", N_cp, "output")),
    "all-to-all": (("all-to-all of the gradient", N_ep, "output"),),
    "send": (),
    "receive": (("send of the gradient", None, "output"),),
}
# What the data-parallel ranks move of every weight in a step.
DATA: Mapping[str, tuple[str, ...]] = {
    "off": (),
    "replicated": ("all-reduce of the gradient",),
    "zero1": ("reduce-scatter of the gradient", "all-gather of the weight"),
    "zero2": ("reduce-scatter of the gradient", "all-gather of the weight"),
    "zero3": ("all-gather of the weight", "all-gather of the weight again", "reduce-scatter of the gradient"),
}


def volume(what: str, ranks: Expr | None, conventions: Conventions) -> tuple[Expr, ...]:
    """How many times its tensor a rank sends in a collective."""
    times = Integer(2) if what.startswith("all-reduce") and conventions["count"] != "payload" else Integer(1)
    if conventions["count"] == "ring" and ranks is not None:
        return (times, (ranks - 1) / ranks)
    return (times,) if times != 1 else ()


def moved(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """What an entry moves forward and backward, and what its weights move."""
    size = SIZES[conventions["dtype"]]
    terms: list[Term] = []
    if entry.kind is Kind.MOVE:
        moves = FORWARD[entry.function]
        if conventions["step"] == "training" and entry.output.grad != 0:
            backward = BACKWARD[entry.function]
            moves = (*moves, *(move for move in backward if conventions["gather"] == "again" or "again" not in move[0]))
        for what, ranks, side in moves:
            shape = entry.output.shape if side == "output" else entry.inputs[0].shape
            label = f"{entry.path.removesuffix('.' + entry.function.replace('-', '_'))} ({what})"
            terms.append(Term(label, (*shape, size, *volume(what, ranks, conventions))))
    if conventions["step"] == "training":
        for weight in entry.weights:
            terms += [
                Term(f"{weight.path} ({what})", (*weight.shape, size, *volume(what, ranks, conventions)))
                for what, ranks in _weight(weight, conventions)
            ]
    return tuple(terms)


def _weight(weight: Weight, conventions: Conventions) -> list[tuple[str, Expr]]:
    """A weight on every tensor-parallel rank has seen only this rank's tokens where the sequence is divided."""
    ranks, sums = N_dp, DATA[conventions["data"]]
    if "context" in conventions:  # a gradient is summed over all ranks that have seen other tokens
        ranks, sums = (N_cp * N_dp, sums) if sums else (N_cp, DATA["replicated"])
    found: list[tuple[str, Expr]] = [(what, ranks) for what in sums]
    if conventions.get("tensor") == "sequence" and not any(dim.has(N_tp) for dim in weight.shape):
        found.insert(0, ("all-reduce of the gradient", N_tp))
    return found


@dataclass(frozen=True)
class Communication(Quantity):
    """A quantity of what is moved, whatever computes it."""

    def conditions(self, ledger: Ledger, conventions: Conventions) -> tuple[Condition, ...]:
        """Weights are shared evenly."""
        return evenly([weight for _, weight in ledger.weights], N_dp) if conventions["data"] != "off" else ()


QUANTITY = Communication(
    Measure("communication", "bytes moved between ranks", "M", "bytes"),
    "What one rank's collectives move in one step over B sequences of S tokens, all in the same precision. A model on "
    "one rank moves nothing. The sums that a loss over a divided vocabulary needs, and the gradient of a tied "
    "embedding between the first and the last stage, are left out.",
    {
        **rows(moved, Kind.MOVE, Kind.LOOKUP, Kind.LINEAR, Kind.NORM, Kind.EXPERTS, Kind.PARAMETER),
        **rows(nothing, Kind.SCORES, Kind.SOFTMAX, Kind.MIX, Kind.ACTIVATION, Kind.MULTIPLY, Kind.ADD),
        **rows(nothing, Kind.DROPOUT, Kind.ROTATE, Kind.POSITIONS, Kind.JOIN, Kind.SELECT, Kind.ROUTE, Kind.COMBINE),
        **rows(unseen, Kind.STORED, Kind.CONTRACTION, Kind.KEPT, Kind.CACHED),
    },
    ("what is moved", "multiplied out"),
    {
        "step": Convention({"training": "forward and backward, and the gradients' sum", "forward": "one forward pass"}),
        "count": Convention(
            {
                "ring": "what a rank sends by ring algorithms: (N-1)/N of the tensor to gather or to scatter it among "
                "N ranks, twice that to reduce it for all",
                "limit": "the same for very many ranks: the tensor once, or twice to reduce it for all; Rajbhandari et "
                "al. 2020, section 7",
                "payload": "the tensor of each collective once, as a profiler lists it",
            }
        ),
        "gather": Convention(
            {
                "again": "what was gathered is kept in pieces, and gathered again for the gradient of what read it, "
                "Korthikanti et al. 2022, section 4.2.2",
                "once": "what was gathered is kept whole, as torch's DTensor does",
            }
        ),
        "dtype": Convention(DTYPE),
        "data": Convention(
            {
                "off": "one data-parallel rank",
                "replicated": "gradients are summed over N_dp ranks",
                "zero1": "ZeRO stage 1: gradients are scattered, weights gathered",
                "zero2": "ZeRO stage 2: gradients are scattered, weights gathered",
                "zero3": "ZeRO stage 3: weights are gathered forward and backward, gradients scattered",
            }
        ),
    },
    "torch counts no such thing for a whole model. What its DTensor hands to collectives, forward and backward, is "
    "compared with this formula in the tests, and the rest is worked by hand there or set against what papers print.",
)
