"""The key/value cache: what is kept of C tokens, so that the next one need not read them again."""

from __future__ import annotations

from ..formulas.account import Measure, Term
from ..language.errors import RuleError
from ..ledger.facts import ATTENDING, STATE, STORING, WEIGHTLESS, Entry, Kind
from .generation import (
    CONVOLUTION_BYTES,
    DTYPE,
    LATENT,
    SIZES,
    STATE_BYTES,
    WINDOW,
    Cached,
    apart,
    convolved,
    keeps_places,
    keys_and_values,
    pooled,
    scans,
    state,
)
from .quantity import Convention, Conventions, measured, nothing, rows


def cached(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """The keys that the scores read, or the values that the mix reads."""
    return tuple(keys_and_values(entry, SIZES[conventions["dtype"]], conventions))


def places(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """Return the bytes of the convolution state."""
    return tuple(convolved(entry, conventions["dtype"], conventions))


def held(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """A tensor of a cache that torch filled. Raises RuleError for a state in another precision than it was seen in."""
    if entry.function == STATE and conventions["dtype"] != "fp32":
        raise RuleError(f"{entry.path}: a state that is neither keys nor values is known for dtype=fp32")
    return (Term(entry.path, (*entry.output.shape, SIZES[conventions["dtype"]])),)


QUANTITY = Cached(
    Measure("kv-cache", "bytes of the key/value cache", "U_cache", "bytes"),
    "The keys and the values of C tokens in each of B sequences, in every layer that attends, at the heads that store "
    "them.",
    {
        **rows(nothing, *STORING, *WEIGHTLESS),
        **rows(cached, *ATTENDING),
        Kind.SELECT: pooled,
        Kind.CONVOLUTION: places,
        Kind.SCAN: state,
        Kind.PRODUCT: apart,
        Kind.OBSERVED: measured("kv-cache", held),
    },
    ("what is kept", "multiplied out"),
    {
        "dtype": Convention(DTYPE),
        "tokens": Convention(
            {"all": "all C tokens in the cache", "one": "one token more, while no window is full"},
            lambda entry: entry.kind in ATTENDING,
        ),
        "window": WINDOW,
        "latent": LATENT,
    },
    after=0,
    carried="What every layer hands on to the next token in each of B sequences.",
    notes={
        scans: "A state-space layer stores its recurrent state and its convolution state, whose sizes do not depend on "
        f"the number of tokens. {STATE_BYTES}",
        keeps_places: CONVOLUTION_BYTES.format(of="the cache"),
    },
    encoder="What a layer attends to of the encoder it keeps as well: the keys and the values of all that the encoder "
    "read.",
)
