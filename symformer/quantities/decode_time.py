"""Decode time: a lower bound on the time of one decoding step on a device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..formulas.account import Measure, Term
from ..language.symbols import B, C
from ..ledger.facts import Entry
from .cache_rules import one_token
from .contractions import rules
from .inference_memory import QUANTITY as MEMORY
from .quantity import Conventions, Quantity
from .read_once import DECODE_RULES, DecodeReads
from .time_quantity import CHECKED, RANKS, TimeQuantity

FIXED: Mapping[str, str] = {"embedding": "lookup", "count": "contractions"}


def new_token(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the contractions for one new token, without those that recompute keys and values of cached tokens.

    A kernel that absorbs the projections of latent attention into the queries and the output does not recompute them.
    """
    return one_token(replace(entry, recalled=False), {**conventions, **FIXED})


FORMATS = {name: MEMORY.conventions[name] for name in ("weights", "cache", "latent")}
READS = DecodeReads(
    Measure("decode-time", "bytes that a decoding step reads", "Q_decode", "bytes"),
    "The bytes of the weights and of the cache that a decoding step reads, each once.",
    DECODE_RULES,
    ("tensor", "factors"),
    {**FORMATS, "logits": MEMORY.conventions["logits"]},
    by_format=MEMORY.by_format,
    cache_dtype="cache",
    model_dtype="weights",
)
WORK = Quantity(
    Measure("decode-time", "FLOPs of a decoding step", "F_step", "FLOPs"),
    "The FLOPs of one decoding step: matrix products only, at 2 FLOPs per multiply-add.",
    rules(new_token),
    ("operation", "factors"),
)

QUANTITY = TimeQuantity(
    Measure("decode-time", "lower bound on the time of a decoding step", "T_decode", "seconds"),
    "A decoding step takes at least this time on a device that moves N_bw bytes per second between memory and "
    "processor and computes N_peak FLOPs per second: the bytes over N_bw or the FLOPs over N_peak, whichever is "
    "larger; Williams et al. 2009 [williams2009]. It is a bound, not a prediction. In the step, each of B sequences "
    "gets one new token, with C tokens in the cache. Every weight and the cache are read "
    "once. Tables whose rows are only looked up, such as an untied token embedding, are excluded, and so are "
    "activations and the new keys and values. Of the experts of a layer, only the K of one token count, because all "
    "tokens may choose the same ones. Only the FLOPs of matrix products count, at 2 per multiply-add, without "
    f"recomputed keys and values. {RANKS}",
    READS.rules,
    READS.columns,
    FORMATS,
    CHECKED,
    run_sizes=(B, C),
    by_format=READS.by_format,
    encoder="The encoder's pass is excluded: its keys and values are already in the cache.",
    moved=READS,
    work=WORK,
    tokens=(B,),
)
