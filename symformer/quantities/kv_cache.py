"""The key/value cache: what is kept of C tokens, so that the next one need not read them again."""

from __future__ import annotations

from ..formulas.account import Measure, Term
from ..language.errors import RuleError
from ..ledger.facts import ATTENDING, STATE, STORING, WEIGHTLESS, Entry, Kind
from .generation import DTYPE, LATENT, SIZES, STATE_BYTES, WINDOW, apart, convolved, keys_and_values, pooled, state
from .quantity import Convention, Conventions, Quantity, measured, nothing, rows


def cached(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """The keys that the scores read, or the values that the mix reads."""
    return tuple(keys_and_values(entry, SIZES[conventions["dtype"]], conventions))


def places(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """What a convolution reads again."""
    return tuple(convolved(entry, SIZES[conventions["dtype"]], conventions))


def held(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """A tensor of a cache that torch filled. Raises RuleError for a state in another precision than it was seen in."""
    if entry.function == STATE and conventions["dtype"] != "fp32":
        raise RuleError(f"{entry.path}: a state that is neither keys nor values is known for dtype=fp32")
    return (Term(entry.path, (*entry.output.shape, SIZES[conventions["dtype"]])),)


QUANTITY = Quantity(
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
    besides={
        Kind.SCAN: "A layer that scans keeps its state and what its convolution reads again: both are as large after "
        f"one token as after many. {STATE_BYTES}"
    },
    encoder="What a layer attends to of the encoder it keeps as well: the keys and the values of all that the encoder "
    "read.",
)
