"""Communication: the bytes that one rank's collectives move in one step of training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from sympy import Expr, Integer

from ..formulas.account import Line, Measure, Term
from ..language.errors import RuleError
from ..language.shapes import Shape
from ..language.sizes import AtMost, Condition
from ..language.symbols import N_cp, N_ep, N_tp
from ..ledger.adapters import is_adapted
from ..ledger.facts import ONE, STORING, WEIGHTLESS, Entry, Kind, Ledger, Weight
from ..ledger.placement import Placement, evenly, replicas
from .generation import DTYPE, SIZES
from .quantity import Convention, Conventions, Counted, Quantity, nothing, rows, unseen

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
# What the ranks that hold the same weight move of it: in a forward pass, and in the rest of a step of training.
SUMMED = "all-reduce of the gradient"
DATA: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "off": ((), (SUMMED,)),
    "replicated": ((), (SUMMED,)),
    "zero1": ((), ("reduce-scatter of the gradient", "all-gather of the weight")),
    "zero2": ((), ("reduce-scatter of the gradient", "all-gather of the weight")),
    "zero3": (
        ("all-gather of the weight",),
        ("all-gather of the weight again", "reduce-scatter of the gradient"),
    ),
}


@dataclass(frozen=True)
class Collective:
    """One collective: what is moved, among which ranks (none for a message), and in what share of a layer's copies."""

    label: str
    what: str
    shape: Shape
    ranks: Expr | None
    share: Expr = ONE

    def term(self, conventions: Conventions) -> Term:
        """The bytes that a rank sends."""
        times = Integer(2) if self.what.startswith("all-reduce") and conventions["count"] != "payload" else ONE
        ring = (self.ranks - 1) / self.ranks if conventions["count"] == "ring" and self.ranks is not None else ONE
        factors = [factor for factor in (times, ring, self.share) if factor != 1]
        return Term(f"{self.label} ({self.what})", (*self.shape, SIZES[conventions["dtype"]], *factors))


def moved(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """What an entry moves forward and backward, and what its weights move."""
    return tuple(each.term(conventions) for each in collectives(entry, conventions))


def collectives(entry: Entry, conventions: Conventions) -> list[Collective]:
    """Those of an entry's tensors, then those of its weights."""
    found: list[Collective] = []
    if entry.kind is Kind.MOVE:
        moves = [(move, ONE) for move in FORWARD[entry.function]]
        if conventions["step"] == "training":
            moves += [(move, _needed(move[0], entry)) for move in BACKWARD[entry.function]]
        path = entry.path.removesuffix("." + entry.function.replace("-", "_"))
        for (what, ranks, side), share in moves:
            if share != 0 and not (what.endswith("again") and conventions["gather"] == "once"):
                tensor = entry.output if side == "output" else entry.inputs[0]
                found.append(Collective(path, what, tensor.shape, ranks, share))
    for weight in entry.weights:
        pairs = _weight(entry.kind, weight, conventions)
        if pairs and entry.frozen:
            raise RuleError(f"{entry.path}: what ranks move of a table that is not trained is not stated")
        found += [Collective(weight.path, what, weight.shape, ranks, weight.share) for what, ranks in pairs]
    return found


def _needed(what: str, entry: Entry) -> Expr:
    """Of a repeated layer's copies, the share that moves this: a gradient where one is asked for; the rest always."""
    return ONE if what.endswith("again") else entry.output.grad


def _weight(kind: Kind, weight: Weight, conventions: Conventions) -> list[tuple[str, Expr]]:
    """A gradient is summed over all ranks that hold the weight and have seen other tokens."""
    forward, backward = DATA[conventions["data"]]
    training = conventions["step"] == "training"
    ranks = replicas(kind, Placement.of(conventions), conventions["data"] != "off")
    found = [(what, ranks) for what in (*forward, *(backward if training else ())) if ranks != 1]
    # Where the sequence is divided, tensor-parallel ranks too have each seen other tokens.
    if training and conventions.get("tensor") == "sequence" and not any(dim.has(N_tp) for dim in weight.shape):
        found.insert(0, (SUMMED, N_tp))
    return found


@dataclass(frozen=True)
class Communication(Quantity):
    """A quantity of what is moved, whatever computes it."""

    def account(self, ledger: Ledger, conventions: Conventions) -> Line:
        """What every entry moves. Raises RuleError for a model of which only a part is trained."""
        if is_adapted(ledger):
            raise RuleError("what ranks move of a model of which only the adapters are trained is not stated")
        return super().account(ledger, conventions)

    def format_dependence(self, part: Counted, given: Mapping[str, str]) -> str:
        """A forward pass moves activations alone, unless its weights are gathered first."""
        chosen = self.choose(given)
        return "" if chosen["step"] == "forward" and not DATA[chosen["data"]][0] else self.by_format

    def conditions(self, ledger: Ledger, conventions: Conventions) -> tuple[Condition, ...]:
        """Weights are shared evenly; and there are ranks to share with, where a count does not show it."""
        placement, data = Placement.of(conventions), conventions["data"] != "off"
        if conventions["count"] == "ring":
            return evenly(ledger, placement, data)
        groups = {each.ranks for _, entry in ledger for each in collectives(entry, conventions)} - {None}
        because = "one rank alone has nothing to move; leave that option out, or choose count=ring, which is 0"
        others = tuple(AtMost(Integer(2), cast(Expr, ranks), because) for ranks in sorted(groups, key=str))
        return (*others, *(evenly(ledger, placement, data) if data else ()))


_ZERO = "; Rajbhandari et al. 2020 [rajbhandari2020], section 7"
QUANTITY = Communication(
    Measure("communication", "bytes moved between ranks", "Q_comm", "bytes"),
    "What one rank's collectives move in one step over B sequences of S tokens, all in the same precision. A model on "
    "one rank moves nothing. The sums that a loss over a divided vocabulary needs, and the gradient of a tied "
    "embedding between the first and the last stage, are left out.",
    {
        **rows(nothing, *WEIGHTLESS),
        **rows(moved, Kind.MOVE, *STORING),
        Kind.OBSERVED: unseen,
    },
    ("what is moved", "multiplied out"),
    {
        "step": Convention({"training": "forward and backward, and the gradients' sum", "forward": "one forward pass"}),
        "count": Convention(
            {
                "ring": "what a rank sends by ring algorithms: the tensor less one rank's share of it to gather or to "
                "scatter it, twice that to reduce it for all",
                "limit": "what a rank of very many sends by ring algorithms: the tensor once, or twice to reduce it "
                "for all; Rajbhandari et al. 2020 [rajbhandari2020], section 7",
                "payload": "the tensor of each collective once, as a profiler lists it",
            }
        ),
        "gather": Convention(
            {
                "again": "what was gathered is kept in pieces, and gathered again for the gradient of what read it, "
                "Korthikanti et al. 2022 [korthikanti2022], section 4.2.2",
                "once": "what was gathered is kept whole, as torch's DTensor does",
            }
        ),
        "dtype": Convention(DTYPE),
        "data": Convention(
            {
                "off": "one data-parallel rank; with context=on gradients are summed over N_cp ranks, with expert=on "
                "those of what is no expert over N_ep",
                "replicated": "gradients are summed over N_dp ranks, with context=on over N_cp times as many, with "
                "expert=on those of what is no expert over N_ep times as many",
                "zero1": f"ZeRO stage 1: gradients are scattered, weights gathered{_ZERO}",
                "zero2": f"ZeRO stage 2: gradients are scattered, weights gathered{_ZERO}",
                "zero3": f"ZeRO stage 3: weights are gathered forward and backward, gradients scattered{_ZERO}",
            }
        ),
    },
    "torch counts no such thing for a whole model. What its DTensor hands to collectives, forward and backward, is "
    "compared with this formula in the tests, and the rest is worked by hand there or set against what papers print.",
    by_format="it counts the bytes of weights and gradients, of which step=forward moves neither",
)
