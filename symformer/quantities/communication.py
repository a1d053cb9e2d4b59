"""Communication: the bytes that the collectives of one rank move in one step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from sympy import Expr, Integer

from ..formulas.account import Line, Measure, Term
from ..formulas.formula import Formula
from ..language.errors import RuleError
from ..language.shape_lines import Shape
from ..language.sizes import AtMost, Condition
from ..language.symbols import N_cp, N_ep, N_tp, S
from ..ledger.adapters import is_adapted
from ..ledger.facts import ONE, SHARED_SUM, STORING, WEIGHTLESS, Entry, Ledger, OperationKind, Weight
from ..ledger.placement import Placement, even_sharing_conditions, replicas
from .cache_rules import DTYPE, SIZES, cacheable, check_unsharded
from .quantity import Convention, Conventions, Countable, Quantity, counts_nothing, refuse_observed, rows

# The communication of one move, forward and backward: the collective, its ranks (None for a point-to-point message),
# and whether its full tensor is the input or the output.
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
# Korthikanti et al. 2022, section 4.2.2: only the shard of a linear layer's input is saved; it is gathered again for
# the gradient of the weight. Keys and values are gathered again too.
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
# The collectives for a weight among the ranks that hold it: in the forward pass, and in the rest of a training step.
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


# Megatron-core's SharedExpertMLP has its own row-parallel layer; vLLM's DeepseekV2MoE has reduce_results=False there.
SEPARATE_SUMS = (
    "The outputs of routed and of shared experts are summed over tensor-parallel ranks in two separate all-reduces, as "
    "in Megatron-LM; vLLM adds the outputs first and needs one all-reduce."
)


def adds_shared_experts(entry: Entry) -> bool:
    """Return whether an operation adds the outputs of the shared and the routed experts."""
    return entry.kind is OperationKind.ADD and entry.path.rpartition(".")[2] == SHARED_SUM


@dataclass(frozen=True)
class Collective:
    """One collective: its tensor, its ranks (None for a message), and the share of a layer's copies that run it."""

    label: str
    what: str
    shape: Shape
    ranks: Expr | None
    share: Expr = ONE

    def term(self, conventions: Conventions) -> Term:
        """Return the bytes that one rank sends."""
        times = Integer(2) if self.what.startswith("all-reduce") and conventions["count"] != "payload" else ONE
        ring = (self.ranks - 1) / self.ranks if conventions["count"] == "ring" and self.ranks is not None else ONE
        factors = [factor for factor in (times, ring, self.share) if factor != 1]
        return Term(f"{self.label} ({self.what})", (*self.shape, SIZES[conventions["dtype"]], *factors))


def collective_terms(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the terms of all collectives of an entry and of its weights."""
    return tuple(each.term(conventions) for each in collectives(entry, conventions))


def collectives(entry: Entry, conventions: Conventions) -> list[Collective]:
    """Return the collectives of an entry's tensors, then the collectives of its weights."""
    if conventions["step"] == "decode" and entry.output.encoded:  # an encoder has run before the first new token
        return []
    found: list[Collective] = []
    if entry.kind is OperationKind.MOVE:
        moves = [(move, ONE) for move in FORWARD[entry.function]]
        if conventions["step"] == "training":
            moves += [(move, _needed(move[0], entry)) for move in BACKWARD[entry.function]]
        path = entry.path.removesuffix("." + entry.function.replace("-", "_"))
        for (what, ranks, side), share in moves:
            if share != 0 and not (what.endswith("again") and conventions["gather"] == "once"):
                tensor = entry.output if side == "output" else entry.inputs[0]
                shape = tensor.shape
                if conventions["step"] == "decode":
                    shape = tuple(dim.xreplace({S: ONE}) for dim in shape)
                found.append(Collective(path, what, shape, ranks, share))
    for weight in entry.weights:
        pairs = _weight(entry.kind, weight, conventions)
        if pairs and entry.frozen:
            raise RuleError(f"{entry.path}: communication of a table that is not trained is not supported")
        if pairs and entry.detached and conventions["step"] == "training":
            raise RuleError(f"{entry.path}: communication of a weight without a gradient is not supported")
        found += [Collective(weight.path, what, weight.shape, ranks, weight.share) for what, ranks in pairs]
    return found


def _needed(what: str, entry: Entry) -> Expr:
    """Return the share of a layer's copies that run this: copies without a gradient do not communicate one."""
    return ONE if what.endswith("again") else entry.output.grad


def _weight(kind: OperationKind, weight: Weight, conventions: Conventions) -> list[tuple[str, Expr]]:
    """Return the collectives of a weight: its gradient is summed over all ranks that processed different tokens."""
    forward, backward = DATA[conventions["data"]]
    training = conventions["step"] == "training"
    ranks = replicas(kind, Placement.of(conventions), conventions["data"] != "off")
    found = [(what, ranks) for what in (*forward, *(backward if training else ())) if ranks != 1]
    # With tensor=sequence, the tensor-parallel ranks processed different tokens too.
    if training and conventions.get("tensor") == "sequence" and not any(dim.has(N_tp) for dim in weight.shape):
        found.insert(0, (SUMMED, N_tp))
    return found


@dataclass(frozen=True)
class Communication(Quantity):
    """The bytes moved between ranks."""

    def account(self, ledger: Ledger, conventions: Conventions) -> Line:
        """Return the bytes that every entry moves. Raises RuleError for adapters and models that do not decode."""
        if is_adapted(ledger):
            raise RuleError("communication of a model with adapters is not supported; remove the adapters")
        if conventions["step"] == "decode":
            for _, entry in ledger:
                cacheable(entry)
                check_unsharded(entry, conventions)
        return super().account(ledger, conventions)

    def notes_for(self, formula: Formula) -> list[str]:
        """Return the sentences that apply because of the operations in a formula."""
        entries = [line.entry for _, line in formula.root.leaves() if line.entry]
        separate = formula.conventions.get("tensor", "off") != "off" and any(map(adds_shared_experts, entries))
        return [*super().notes_for(formula), *([SEPARATE_SUMS] if separate else [])]

    def format_dependence(self, part: Countable, given: Mapping[str, str]) -> str:
        """Return the reason, or "" for a forward pass or a decoding step that moves only activations."""
        chosen = self.choose(given)
        return "" if chosen["step"] != "training" and not DATA[chosen["data"]][0] else self.by_format

    def conditions(self, ledger: Ledger, conventions: Conventions) -> tuple[Condition, ...]:
        """Return the conditions: even sharding, and at least two ranks unless the count is 0 for one."""
        placement, data = Placement.of(conventions), conventions["data"] != "off"
        if conventions["step"] != "training" and not DATA[conventions["data"]][0]:
            data = False  # no weight moves
        if conventions["count"] == "ring":
            moves = data or conventions["step"] == "training"
            return even_sharing_conditions(ledger, placement, data) if moves else ()
        groups = {each.ranks for _, entry in ledger for each in collectives(entry, conventions)} - {None}
        because = "a single rank moves nothing; remove that option, or choose count=ring, which is 0 in this case"
        others = tuple(AtMost(Integer(2), cast(Expr, ranks), because) for ranks in sorted(groups, key=str))
        return (*others, *(even_sharing_conditions(ledger, placement, data) if data else ()))


_ZERO = "; Rajbhandari et al. 2020 [rajbhandari2020], section 7"
QUANTITY = Communication(
    Measure("communication", "bytes moved between ranks", "Q_comm", "bytes", sparse=True),
    "The bytes that the collectives of one rank move in one step over B sequences of S tokens, all in the same dtype. "
    "A model on one rank moves nothing. Excluded: the reductions of a loss over a sharded vocabulary, and the gradient "
    "of a tied embedding between the first and last pipeline stages.",
    {
        **rows(counts_nothing, *WEIGHTLESS),
        **rows(collective_terms, OperationKind.MOVE, *STORING),
        OperationKind.OBSERVED: refuse_observed,
    },
    ("tensor (collective)", "factors"),
    {
        "step": Convention(
            {
                "training": "one forward and backward pass, and the gradient reduction",
                "forward": "one forward pass",
                "decode": "one decoding step: one new token in each sequence, after any encoder has run",
            }
        ),
        "count": Convention(
            {
                "ring": "bytes a rank sends with ring algorithms: the tensor minus one rank's shard for all-gather or "
                "reduce-scatter, and twice that for all-reduce",
                "limit": "bytes a rank sends with ring algorithms for many ranks: the tensor once, or twice for "
                "all-reduce; Rajbhandari et al. 2020 [rajbhandari2020], section 7",
                "payload": "the tensor of each collective once, as in a profiler",
            }
        ),
        "gather": Convention(
            {
                "again": "only the shard of a gathered tensor is saved; it is gathered again in the backward pass, "
                "Korthikanti et al. 2022 [korthikanti2022], section 4.2.2",
                "once": "the gathered tensor is saved, as in torch's DTensor",
            }
        ),
        "dtype": Convention(DTYPE),
        "data": Convention(
            {
                "off": "no data parallelism; gradients are all-reduced over N_cp ranks with context=on and, except for "
                "experts, over N_ep ranks with expert=on",
                "replicated": "gradients are all-reduced over N_dp ranks (times N_cp with context=on; times N_ep with "
                "expert=on, except for experts)",
                "zero1": f"ZeRO stage 1: gradients are reduce-scattered, weights all-gathered{_ZERO}",
                "zero2": f"ZeRO stage 2: gradients are reduce-scattered, weights all-gathered{_ZERO}",
                "zero3": "ZeRO stage 3: weights are all-gathered in the forward and in the backward pass, gradients "
                f"reduce-scattered{_ZERO}",
            }
        ),
    },
    "torch has no counter for this. The tests compare this formula with the tensors that torch's DTensor passes to "
    "collectives, forward and backward, and otherwise with hand calculations and published values.",
    by_format="it counts the bytes of weights and gradients; step=forward and step=decode without zero3 move neither",
)
