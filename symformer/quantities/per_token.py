"""Rescale a count for B sequences of S tokens to a given number of tokens in sequences of the same length."""

from __future__ import annotations

from dataclasses import replace

from sympy import Expr, cancel, fraction

from ..formulas.account import Line, Term
from ..language.errors import RuleError
from ..language.symbols import B, B_vis, S, Z
from ..ledger.facts import ONE, Ledger


def by_token(line: Line, tokens: Expr) -> Line:
    """Return the account with every term divided by B·S and multiplied by a number of tokens."""
    terms = tuple(replace(term, factors=_factors(term, tokens)) for term in line.terms)
    return replace(line, terms=terms, lines=tuple(by_token(below, tokens) for below in line.lines))


def _factors(term: Term, tokens: Expr) -> tuple[Expr, ...]:
    """Return the factors with S replaced by the number of tokens and B dropped; a missing B or S divides instead."""
    factors = list(term.factors)
    for size, new in ((S, tokens), (B, None)):
        for place, factor in enumerate(factors):
            if not factor.has(size):
                continue
            rest = ONE if factor == size else cancel(factor / size)
            if not fraction(rest)[1].has(size):
                factors[place : place + 1] = [each for each in (new, rest) if each is not None and each != 1]
                break
        else:
            factors += [each for each in (new, 1 / size) if each is not None]
    return tuple(factors)


def holds_tokens(title: str, ledger: Ledger, what: str) -> None:
    """Raise RuleError for a model that takes images, or no tokens: the number of tokens does not determine its cost."""
    read = {size for _, entry in ledger for dim in entry.output.shape for size in dim.free_symbols}
    if read & {B_vis, Z}:
        raise RuleError(
            f"{what} is computed per token, but {title} takes images; use train-flops for a batch of images"
        )
    if S not in read:
        raise RuleError(f"{what} is computed per token, but {title} takes no tokens")
