"""What generation needs: attention that looks back only, so that keys and values can be kept."""

from __future__ import annotations

from sympy import Expr, Integer

from ..account import Term
from ..errors import RuleError
from ..ledger import Entry, Kind
from ..symbols import C, S, W
from .contractions import forward
from .quantity import Conventions

SIZES: dict[str, Expr] = {"bf16": Integer(2), "fp16": Integer(2), "fp32": Integer(4), "fp8": Integer(1), "symbolic": W}
DTYPE = {
    "bf16": "2 bytes an element",
    "fp16": "2 bytes an element",
    "fp32": "4 bytes an element",
    "fp8": "1 byte an element",
    "symbolic": "W bytes an element",
}


def keys_and_values(entry: Entry, size: Expr) -> list[Term]:
    """What attention keeps of C tokens: the keys [B,G,C,D] that the scores read, or the values that the mix reads."""
    cached(entry)
    batch, heads, length, width = entry.inputs[1].shape
    what = "keys" if entry.kind is Kind.SCORES else "values"
    return [Term(f"{entry.path} ({what})", (batch, heads, length.xreplace({S: C}), width, size))]


def cached(entry: Entry) -> None:
    """Raise RuleError for attention whose keys and values a cache of earlier tokens cannot stand for."""
    if entry.kind in (Kind.SCORES, Kind.MIX) and entry.mask != "causal":
        raise RuleError(
            f"{entry.path}: this attention is not causal, so no cache of earlier tokens stands for its keys and values"
        )


def prompt(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """A contraction over the whole prompt."""
    cached(entry)
    return forward(entry, conventions)


def one_token(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """What is left for one new token: S becomes 1, and attention reads C cached tokens and the new one."""
    cached(entry)
    one = {**conventions, "attention": "new"}
    return tuple(
        Term(term.label, tuple(factor.xreplace({S: Integer(1)}) for factor in term.factors))
        for term in forward(entry, one)
    )
