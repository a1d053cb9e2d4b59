"""What generation needs: attention that looks back only, so that keys and values can be kept."""

from __future__ import annotations

from sympy import Expr, Integer

from ..account import Term
from ..errors import RuleError
from ..ledger import Entry, Kind
from ..symbols import C, S
from .contractions import contraction
from .quantity import Conventions


def cached(entry: Entry) -> None:
    """Raise RuleError for attention whose keys and values a cache of earlier tokens cannot stand for."""
    if entry.kind in (Kind.SCORES, Kind.MIX) and entry.mask != "causal":
        raise RuleError(
            f"{entry.path}: this attention is not causal, so no cache of earlier tokens stands for its keys and values"
        )


def prompt(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """A contraction over the whole prompt."""
    cached(entry)
    return (contraction(entry, conventions).forward(entry.path),)


def one_token(entry: Entry, conventions: Conventions) -> tuple[Term, ...]:
    """A contraction for one new token: S becomes 1, and attention reads C cached tokens and the new one."""
    cached(entry)
    factors: list[Expr] = list(contraction(entry, {}).factors)
    if entry.kind in (Kind.SCORES, Kind.MIX):
        _, batch, heads, _, _, width = factors
        factors = [Integer(2), batch, heads, C + 1, width]
    return (Term(entry.path, tuple(factor.xreplace({S: Integer(1)}) for factor in factors)),)
