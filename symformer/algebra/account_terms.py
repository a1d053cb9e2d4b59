"""The summands of a formula: each weight, product or buffer, with the part that contains it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from sympy import Add, Expr, Integer, Mul, Pow, Rational, Symbol, expand, fraction, together

from ..formulas.formula import Formula
from ..ledger.facts import Entry

PRIME = 2**61 - 1


@dataclass(frozen=True)
class AccountTerm:
    """One term of a formula, over all copies."""

    path: str  # the torch module: "h.*.mlp.c_fc"
    label: str  # the torch weight, or the name of the term: "h.*.mlp.c_fc.bias"
    total: Expr
    entry: Entry
    repeated: bool  # True for a term of the layers


def account_terms(formula: Formula, puts: Mapping[Symbol, Expr] | None = None) -> list[AccountTerm]:
    """Return every term of a formula, after substituting the given sizes."""
    return [
        AccountTerm(
            line.path,
            term.label,
            expand((count * term.expr).xreplace(formula.relations).xreplace(puts or {})),
            line.entry,
            bool(count.free_symbols),
        )
        for count, line in formula.root.leaves()
        if line.entry is not None
        for term in line.terms
    ]


def total_of_terms(found: list[AccountTerm]) -> Expr:
    """Return the total of some pieces."""
    return expand(Add(*(piece.total for piece in found)))


def is_zero(expr: Expr) -> bool:
    """Return True if an expression is 0 for all sizes."""
    if expr == 0 or (found := expand(expr)) == 0:
        return True
    if found.is_polynomial():
        return False
    return bool(expand(fraction(together(found))[0]) == 0)


@dataclass(frozen=True)
class Point:
    """Expressions in place of some symbols, for fingerprints without substitution."""

    puts: Mapping[Symbol, Expr]
    numbers: Mapping[Symbol, int]

    @classmethod
    def of(cls, puts: Mapping[Symbol, Expr]) -> Point | None:
        """Return the point, or None if an expression divides by zero modulo the prime."""
        numbers = {name: number for name, expr in puts.items() if (number := fingerprint(expr)) is not None}
        return cls(puts, numbers) if len(numbers) == len(puts) else None


NOWHERE = Point({}, {})


def fingerprint(expr: Expr, point: Point = NOWHERE) -> int | None:
    """Return an expression's value at one point modulo a prime, or None if that divides by zero.

    Different expressions have different values, except with a probability of about 10^-15.
    """
    if isinstance(expr, Symbol):
        return point.numbers[expr] if expr in point.numbers else _own_number(expr)
    if isinstance(expr, Rational):
        return int(expr.p) * pow(int(expr.q), -1, PRIME) % PRIME if int(expr.q) % PRIME else None
    if isinstance(expr, Add | Mul):
        total = 0 if isinstance(expr, Add) else 1
        for each in expr.args:
            value = fingerprint(each, point)
            if value is None:
                return None
            total = (total + value if isinstance(expr, Add) else total * value) % PRIME
        return total
    if isinstance(expr, Pow) and isinstance(expr.exp, Integer):
        base = fingerprint(expr.base, point)
        if base is None or (base == 0 and expr.exp < 0):
            return None
        return pow(base, int(expr.exp), PRIME)
    if point.puts and not point.puts.keys().isdisjoint(expr.free_symbols):
        return fingerprint(expr.xreplace(dict(point.puts)))  # a floor or a maximum
    return _own_number(expr)


@cache
def _own_number(expr: Expr) -> int:
    """Return the fixed number that represents a size or a floor."""
    from hashlib import sha256

    return int.from_bytes(sha256(str(expr).encode()).digest()[:7], "big")
