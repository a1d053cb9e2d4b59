"""Forward FLOPs of the contractions: 2 for each multiply-add, as torch's FlopCounterMode counts them."""

from __future__ import annotations

from sympy import Expr, Integer

from ..account import Measure, Term
from ..ledger import Entry, Kind
from .quantity import Convention, Conventions, Quantity, nothing

TWO = Integer(2)


def linear(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """x[…, in] · W[out, in]ᵀ: 2 · (elements of the output) · in. The bias is elementwise: no contraction."""
    return (Term(entry.path, (TWO, *entry.output.shape, entry.inputs[0].width)),)


def scores(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """q[B,A,S,D] · k[B,G,C,D]ᵀ: 2 · B · A · (query-key pairs) · D."""
    batch, heads, *lengths = entry.output.shape
    return (Term(entry.path, (TWO, batch, heads, *_pairs(entry, lengths, conventions), entry.inputs[0].width)),)


def mix(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """p[B,A,S,C] · v[B,G,C,D]: 2 · B · A · (query-key pairs) · D."""
    batch, heads, *lengths = entry.inputs[0].shape
    return (Term(entry.path, (TWO, batch, heads, *_pairs(entry, lengths, conventions), entry.output.width)),)


def _pairs(entry: Entry, lengths: list[Expr], conventions: Conventions) -> tuple[Expr, ...]:
    queries, keys = lengths
    if conventions["attention"] == "causal" and entry.mask == "causal":
        return (queries * (queries + 1) / 2,)
    return (queries, keys)


QUANTITY = Quantity(
    Measure("flops", "forward FLOPs", "F", "FLOPs"),
    "One forward pass over B sequences of S tokens. Contractions (matrix products) only, 2 FLOPs a multiply-add; "
    "logits at all positions; an embedding is a lookup and costs nothing.",
    {
        Kind.LINEAR: linear,
        Kind.SCORES: scores,
        Kind.MIX: mix,
        Kind.LOOKUP: nothing,
        Kind.SOFTMAX: nothing,
        Kind.NORM: nothing,
        Kind.ACTIVATION: nothing,
        Kind.MULTIPLY: nothing,
        Kind.ADD: nothing,
        Kind.DROPOUT: nothing,
        Kind.ROTATE: nothing,
        Kind.POSITIONS: nothing,
        Kind.SELECT: nothing,
        Kind.PARAMETER: nothing,
    },
    ("contraction", "multiplied out"),
    {
        "attention": Convention(
            {
                "full": "attention counts every query-key pair, masked or not: S² of them",
                "causal": "attention under a causal mask counts only the pairs it keeps: S(S+1)/2 of them",
            }
        )
    },
)
