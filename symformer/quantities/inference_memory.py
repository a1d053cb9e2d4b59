"""Inference memory: the weights, the KV cache, and the logits of the current token."""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Integer

from ..formulas.account import Line, Measure, Term
from ..language.errors import RuleError
from ..language.symbols import S
from ..ledger.facts import ATTENDING, CARRYING, COMPRESSING, STORING, WEIGHTLESS, Entry, Ledger, OperationKind
from .cache_formats import CACHE_FORMATS, CACHE_MEANINGS, UNUSUAL_CACHES
from .cache_rules import (
    BLOCK,
    COMPRESSED_BYTES,
    CONVOLUTION_BYTES,
    DTYPE,
    ENGINE,
    GENERAL_STATE_BYTES,
    LATENT,
    PREFIX,
    SHIFT_BYTES,
    SIZES,
    STATE_BYTES,
    STATE_DTYPE,
    WINDOW,
    Cached,
    applies_delta_rule,
    check_unsharded,
    compressed,
    compresses,
    convolved,
    keeps_places,
    keys_and_values,
    per_token_product,
    recurs,
    scans,
    shifted,
    shifts,
    state,
)
from .contractions import applies_general_delta_rule
from .quantity import BY_LAYOUT, Convention, Conventions, counts_nothing, refuse_observed, rows, tally
from .stored_format import InFormat
from .weight_formats import MEANINGS, UNUSUAL


def logits(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the bytes of the logits of one token, for the LM head."""
    if not entry.logits:
        return ()
    check_unsharded(entry, conventions, ("context",))
    if len(entry.output.shape) != 3:
        raise RuleError(f"{entry.path}: the logits of one token need an output of shape [B,S,V]")
    one = tuple(dim.xreplace({S: Integer(1)}) for dim in entry.output.shape)
    return (Term(f"{entry.path} (logits)", (*one, SIZES[conventions["logits"]]), purpose="logits"),)


def cached(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the bytes that attention caches for C tokens."""
    return tuple(keys_and_values(entry, CACHE_FORMATS[conventions["cache"]], conventions))


def convolution(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the bytes of the convolution state."""
    return tuple(convolved(entry, conventions["weights"], conventions))


def recurrent_state(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the bytes of the recurrent state."""
    return state(entry, conventions["weights"], conventions)


def compressed_entries(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the bytes of the compressed entries and of the tokens that later entries need."""
    return tuple(compressed(entry, CACHE_FORMATS[conventions["cache"]].element, conventions["weights"], conventions))


def last_tokens(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the bytes of the input of a token shift at the last token."""
    return tuple(shifted(entry, conventions["weights"], conventions))


@dataclass(frozen=True)
class InferenceMemory(InFormat, Cached):
    """The bytes of the weights in a format, of the cache and of the logits."""

    def account(self, ledger: Ledger, conventions: Conventions) -> Line:
        """Return the account: the bytes of the weights of each entry, then its other bytes."""
        kept, cached = self.stored(ledger, conventions).terms, self.terms_by(ledger, conventions)
        return tally(ledger.root, lambda entry: (*kept.get(id(entry), ()), *cached(entry)))


QUANTITY = InferenceMemory(
    Measure("inference-memory", "bytes of inference memory", "U_infer", "bytes"),
    "The bytes needed for inference: every weight once, and the keys and values of C tokens in each of B sequences. "
    "Temporary buffers are excluded.",
    {
        **rows(counts_nothing, *STORING),
        OperationKind.LINEAR: logits,
        OperationKind.CONVOLUTION: convolution,
        **rows(counts_nothing, *WEIGHTLESS),
        OperationKind.SELECT: last_tokens,
        **rows(cached, *ATTENDING),
        **rows(recurrent_state, *CARRYING),
        **rows(compressed_entries, *COMPRESSING),
        OperationKind.PRODUCT: per_token_product,
        OperationKind.OBSERVED: refuse_observed,
    },
    ("tensor", "factors"),
    {
        "weights": Convention(MEANINGS, unusual=UNUSUAL),
        "cache": Convention(CACHE_MEANINGS, unusual=UNUSUAL_CACHES),
        "engine": ENGINE,
        "block": BLOCK,
        "prefix": PREFIX,
        "window": WINDOW,
        "latent": LATENT,
        "state": STATE_DTYPE,
        "logits": Convention({"fp32": "4 bytes per element", **{k: v for k, v in DTYPE.items() if k != "fp32"}}),
    },
    logits="The logits of one token in each sequence are included.",
    basis=BY_LAYOUT,
    by_format="it counts the bytes of the weights",
    recurrent="The bytes needed for inference: every weight once, and the recurrent states of each of B sequences. "
    "Temporary buffers are excluded.",
    notes={
        scans: STATE_BYTES,
        applies_delta_rule: STATE_BYTES,
        applies_general_delta_rule: GENERAL_STATE_BYTES,
        shifts: SHIFT_BYTES.format(of="the weights"),
        recurs: STATE_BYTES,
        compresses: COMPRESSED_BYTES.format(of="the weights"),
        keeps_places: CONVOLUTION_BYTES.format(of="the weights"),
    },
    cache_dtype="cache",
    model_dtype="weights",
    encoder="The keys and values include those of all encoder tokens.",
)
