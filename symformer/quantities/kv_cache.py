"""KV cache: the bytes stored for C tokens so that the next token does not reprocess them."""

from __future__ import annotations

from ..formulas.account import Measure, Term
from ..language.errors import RuleError
from ..ledger.facts import ATTENDING, CARRYING, COMPRESSING, STATE, STORING, WEIGHTLESS, Entry, OperationKind
from .cache_formats import CACHE_FORMATS, CACHE_MEANINGS, UNUSUAL_CACHES
from .cache_rules import (
    BLOCK,
    COMPRESSED_BYTES,
    CONVOLUTION_BYTES,
    ENGINE,
    GENERAL_STATE_BYTES,
    LATENT,
    PREFIX,
    REUSED,
    SHIFT_BYTES,
    SIZES,
    STATE_BYTES,
    STATE_DTYPE,
    WINDOW,
    Cached,
    applies_delta_rule,
    compressed,
    compresses,
    convolved,
    keeps_places,
    keys_and_values,
    per_token_product,
    recurs,
    reuses,
    scans,
    shifted,
    shifts,
    state,
)
from .contractions import applies_general_delta_rule
from .quantity import BY_LAYOUT, Convention, Conventions, counts_nothing, measured, rows

STATES = (
    "The cache includes the recurrent state and the convolution state of each {layer} layer, whose sizes do not depend "
    f"on the number of tokens. {STATE_BYTES}"
)


def cached(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the bytes of the keys that the scores read or of the values that the mix reads."""
    return tuple(keys_and_values(entry, CACHE_FORMATS[conventions["dtype"]], conventions))


def convolution_state(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the bytes of the convolution state."""
    return tuple(convolved(entry, conventions["dtype"], conventions))


def recurrent_state(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the bytes of the recurrent state."""
    return state(entry, conventions["dtype"], conventions)


def compressed_entries(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the bytes of the compressed entries and of the tokens that later entries need."""
    size = CACHE_FORMATS[conventions["dtype"]].element
    return tuple(compressed(entry, size, conventions["dtype"], conventions))


def last_tokens(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the bytes of the input of a token shift at the last token."""
    return tuple(shifted(entry, conventions["dtype"], conventions))


def traced_cache_bytes(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the bytes of a traced cache tensor. Raises RuleError for a state with a dtype other than fp32."""
    if conventions.get("engine", "transformers") != "transformers":
        raise RuleError(f"{entry.path}: engine={conventions['engine']} is not supported for a trace")
    if entry.function == STATE and conventions["dtype"] != "fp32":
        raise RuleError(f"{entry.path}: a cached state other than keys and values needs dtype=fp32")
    if (dtype := conventions["dtype"]) not in SIZES:
        raise RuleError(f"{entry.path}: dtype={dtype} needs the shapes of keys and values, which were not recognized")
    return (Term(entry.path, (*entry.output.shape, SIZES[dtype])),)


QUANTITY = Cached(
    Measure("kv-cache", "bytes of the key/value cache", "U_cache", "bytes", sparse=True),
    "The bytes of the KV cache: the keys and values of C tokens in each of B sequences, for every key/value head of "
    "every attention layer.",
    {
        **rows(counts_nothing, *STORING, *WEIGHTLESS),
        **rows(cached, *ATTENDING),
        OperationKind.SELECT: last_tokens,
        OperationKind.CONVOLUTION: convolution_state,
        **rows(recurrent_state, *CARRYING),
        **rows(compressed_entries, *COMPRESSING),
        OperationKind.PRODUCT: per_token_product,
        OperationKind.OBSERVED: measured("kv-cache", traced_cache_bytes),
    },
    ("tensor", "factors"),
    {
        "dtype": Convention(CACHE_MEANINGS, unusual=UNUSUAL_CACHES),
        "engine": ENGINE,
        "block": BLOCK,
        "prefix": PREFIX,
        "tokens": Convention(
            {"all": "all C tokens in the cache", "one": "one additional token, before any window is full"},
            lambda entry: entry.kind in ATTENDING,
        ),
        "window": WINDOW,
        "latent": LATENT,
        "state": STATE_DTYPE,
    },
    basis=BY_LAYOUT,
    decoded_tokens=0,
    recurrent="The bytes of the states that each recurrent layer passes to the next token, for each of B sequences.",
    notes={
        reuses: REUSED,
        scans: STATES.format(layer="state-space"),
        applies_delta_rule: STATES.format(layer="linear-attention"),
        applies_general_delta_rule: "The size of the recurrent state does not depend on the number of tokens. "
        f"{GENERAL_STATE_BYTES}",
        shifts: SHIFT_BYTES.format(of="the cache"),
        recurs: STATES.format(layer="recurrent"),
        compresses: COMPRESSED_BYTES.format(of="the cache"),
        keeps_places: CONVOLUTION_BYTES.format(of="the cache"),
    },
    encoder="The cross-attention keys and values of all encoder tokens are included.",
)
