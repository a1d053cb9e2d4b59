"""The key/value cache: what is kept of C tokens, so that the next one need not read them again."""

from __future__ import annotations

from sympy import Expr, Integer

from ..account import Measure, Term
from ..ledger import Entry, Kind
from ..symbols import C, S, W
from .generation import cached
from .quantity import Convention, Conventions, Quantity, nothing

_BYTES: dict[str, Expr] = {"bf16": Integer(2), "fp16": Integer(2), "fp32": Integer(4), "fp8": Integer(1), "symbolic": W}


def kept(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """The keys [B,G,C,D] that the scores read, or the values [B,G,C,D] that the mix reads."""
    cached(entry)
    batch, heads, length, width = entry.inputs[1].shape
    what = "keys" if entry.kind is Kind.SCORES else "values"
    tokens = length.xreplace({S: C})
    return (Term(f"{entry.path} ({what})", (batch, heads, tokens, width, _BYTES[conventions["dtype"]])),)


QUANTITY = Quantity(
    Measure("kv-cache", "bytes of the key/value cache", "K", "bytes"),
    "The keys and the values of C tokens in each of B sequences, in every layer, at the heads that store them.",
    {
        Kind.SCORES: kept,
        Kind.MIX: kept,
        **dict.fromkeys(
            (
                Kind.LINEAR,
                Kind.LOOKUP,
                Kind.SOFTMAX,
                Kind.NORM,
                Kind.ACTIVATION,
                Kind.MULTIPLY,
                Kind.ADD,
                Kind.DROPOUT,
                Kind.ROTATE,
                Kind.POSITIONS,
                Kind.SELECT,
                Kind.PARAMETER,
            ),
            nothing,
        ),
    },
    ("what is kept", "multiplied out"),
    {
        "dtype": Convention(
            {
                "bf16": "2 bytes an element",
                "fp16": "2 bytes an element",
                "fp32": "4 bytes an element",
                "fp8": "1 byte an element",
                "symbolic": "W bytes an element",
            }
        )
    },
)
