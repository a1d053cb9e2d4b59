"""Inference memory: the weights, the KV cache, and the logits of the current token."""

from __future__ import annotations

from sympy import Integer

from ..formulas.account import Measure, Term
from ..language.errors import RuleError
from ..language.symbols import S
from ..ledger.facts import ATTENDING, CARRYING, COMPRESSING, STORING, WEIGHTLESS, Entry, OperationKind
from .cache_rules import (
    COMPRESSED_BYTES,
    CONVOLUTION_BYTES,
    DTYPE,
    GENERAL_STATE_BYTES,
    LATENT,
    SHIFT_BYTES,
    SIZES,
    STATE_BYTES,
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
from .quantity import Convention, Conventions, counts_nothing, refuse_observed, rows, shared


def weights(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the bytes of the weights an entry stores."""
    size = SIZES[conventions["weights"]]
    return tuple(
        Term(weight.path, (*weight.shape, size, *shared(weight)), purpose="weights") for weight in entry.weights
    )


def linear(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the bytes of the weights and, for the LM head, of the logits of one token."""
    if not entry.logits:
        return weights(entry, conventions)
    check_unsharded(entry, conventions, ("context",))
    if len(entry.output.shape) != 3:
        raise RuleError(f"{entry.path}: the logits of one token need an output of shape [B,S,V]")
    one = tuple(dim.xreplace({S: Integer(1)}) for dim in entry.output.shape)
    logits = Term(f"{entry.path} (logits)", (*one, SIZES[conventions["logits"]]), purpose="logits")
    return (*weights(entry, conventions), logits)


def cached(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the bytes that attention caches for C tokens."""
    return tuple(keys_and_values(entry, SIZES[conventions["cache"]], conventions))


def convolution(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the bytes of the weights and of the convolution state."""
    return (*weights(entry, conventions), *convolved(entry, conventions["weights"], conventions))


def compressed_entries(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the bytes of the compressed entries and of the tokens that later entries need."""
    return tuple(compressed(entry, SIZES[conventions["cache"]], conventions["weights"], conventions))


def last_tokens(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the bytes of the input of a token shift at the last token."""
    return tuple(shifted(entry, conventions["weights"], conventions))


QUANTITY = Cached(
    Measure("inference-memory", "bytes of inference memory", "U_infer", "bytes"),
    "The bytes needed for inference: every weight once, and the keys and values of C tokens in each of B sequences. "
    "Temporary buffers are excluded.",
    {
        **rows(weights, *STORING),
        OperationKind.LINEAR: linear,
        OperationKind.CONVOLUTION: convolution,
        **rows(counts_nothing, *WEIGHTLESS),
        OperationKind.SELECT: last_tokens,
        **rows(cached, *ATTENDING),
        **rows(state, *CARRYING),
        **rows(compressed_entries, *COMPRESSING),
        OperationKind.PRODUCT: per_token_product,
        OperationKind.OBSERVED: refuse_observed,
    },
    ("tensor", "factors"),
    {
        "weights": Convention(DTYPE),
        "cache": Convention(DTYPE),
        "window": WINDOW,
        "latent": LATENT,
        "logits": Convention({"fp32": "4 bytes per element", **{k: v for k, v in DTYPE.items() if k != "fp32"}}),
    },
    logits="The logits of one token in each sequence are included.",
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
    model_dtype="weights",
    encoder="The keys and values include those of all encoder tokens.",
)
