"""A count of B sequences of S tokens, reckoned for one sequence, or for so many tokens in sequences of that length."""

from __future__ import annotations

from dataclasses import replace

from sympy import Expr, cancel, fraction

from ..formulas.account import Line, Term
from ..language.errors import RuleError
from ..language.symbols import B, B_vis, S, Z
from ..ledger.facts import ONE, Ledger


def by_token(line: Line, tokens: Expr) -> Line:
    """Every term over B·S, and times so many tokens."""
    terms = tuple(replace(term, factors=_factors(term, tokens)) for term in line.terms)
    return replace(line, terms=terms, lines=tuple(by_token(below, tokens) for below in line.lines))


def _factors(term: Term, tokens: Expr) -> tuple[Expr, ...]:
    """The axis of tokens becomes all of them, and that of sequences goes; what has no such axis is divided."""
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


def of_one(line: Line) -> Line | None:
    """The same of one sequence; None where not every term is in proportion to how many there are."""
    terms = [term for _, below in line.counted() for term in below.terms]
    return _of_one(line) if all(B in term.factors for term in terms) else None


def _of_one(line: Line) -> Line:
    def without(term: Term) -> Term:
        at = term.factors.index(B)
        return replace(term, factors=(*term.factors[:at], *term.factors[at + 1 :]))

    return replace(line, terms=tuple(map(without, line.terms)), lines=tuple(map(_of_one, line.lines)))


def holds_tokens(title: str, ledger: Ledger, what: str) -> None:
    """Raise RuleError for what reads images, or no tokens: how many of those a run goes over is not told by tokens."""
    read = {size for _, entry in ledger for dim in entry.output.shape for size in dim.free_symbols}
    if read & {B_vis, Z}:
        raise RuleError(
            f"{what} is reckoned by tokens, and {title} reads images; see the train-flops of a batch of them"
        )
    if S not in read:
        raise RuleError(f"{what} is reckoned by tokens, and {title} reads none")
