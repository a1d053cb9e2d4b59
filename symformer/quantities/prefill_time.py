"""Prefill time: a lower bound on the time of a forward pass over a prompt on a device."""

from __future__ import annotations

from ..formulas.account import Measure
from ..language.symbols import B, S
from ..ledger.facts import STORING, WEIGHTLESS, OperationKind
from .inference_memory import QUANTITY as MEMORY
from .prefill_flops import QUANTITY as WORK
from .quantity import counts_nothing, refuse_observed, rows
from .read_once import WeightReads
from .time_quantity import CHECKED, FULL, RANKS, TimeQuantity, first

WEIGHTS = {"weights": MEMORY.conventions["weights"]}
READS = WeightReads(
    Measure("prefill-time", "bytes of weights that a forward pass reads", "Q_prefill", "bytes"),
    "The bytes of the weights that a forward pass reads, each once.",
    {**rows(counts_nothing, *STORING, *WEIGHTLESS, OperationKind.MOVE), OperationKind.OBSERVED: refuse_observed},
    ("tensor", "factors"),
    WEIGHTS,
    by_format="it counts the bytes of the weights",
)

QUANTITY = TimeQuantity(
    Measure("prefill-time", "lower bound on the time of the prefill", "T_prefill", "seconds"),
    "The prefill takes at least this time on a device that moves N_bw bytes per second between memory and processor "
    "and computes N_peak FLOPs per second: the bytes over N_bw or the FLOPs over N_peak, whichever is larger; Williams "
    "et al. 2009 [williams2009]. It is a bound, not a prediction. The prefill is one forward pass over a prompt of S "
    "tokens in each of B sequences. Every weight is read once, without tables whose rows are "
    "only looked up. Of the experts of a layer, only the K of one token count, because all tokens may choose the same "
    "ones. Activations and the cache are excluded. Only the FLOPs of matrix products count, at 2 per multiply-add. "
    f"{FULL} {RANKS}",
    READS.rules,
    READS.columns,
    {**WEIGHTS, "attention": first(WORK, "attention", "causal"), "logits": first(WORK, "logits", "last")},
    CHECKED,
    by_format=READS.by_format,
    notes=WORK.notes,
    encoder=WORK.encoder,
    moved=READS,
    work=WORK,
    fixed={"embedding": "lookup", "count": "contractions"},
    tokens=(B, S),
)
