"""Quotients of polynomials: lowest terms, exact values, and limits as one size tends to infinity."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from sympy import Add, Expr, Max, Min, Symbol, cancel, ceiling, expand, floor, fraction

from ..formulas.ratio import lowest
from ..language.notation.display_tree import FractionNode as Quotient
from ..language.notation.display_tree import Tree, tree, value
from ..language.notation.text import code
from ..language.sizes import AtMost, Condition, Divides, substitute
from ..language.symbols import print_order
from .crossover import coefficients, constant_sign

MAX_PAIRS = 20_000  # maximum number of pairs of terms for a full polynomial cancellation


def lowest_terms(above: Expr, below: Expr) -> Expr:
    """Return a quotient in lowest terms; for many terms, only common monomials are cancelled."""
    pairs = len(Add.make_args(above)) * len(Add.make_args(below))
    return cancel(above / below) if pairs <= MAX_PAIRS else lowest(above, below)


def quotient(above: Expr, below: Expr) -> Tree | None:
    """Return a quotient of two polynomials for display, or None if the denominator is 0 for all sizes."""
    if below == 0:
        return None
    numerator, denominator = fraction(lowest_terms(above, below))
    return tree(expand(numerator)) if denominator == 1 else Quotient(tree(expand(numerator)), tree(expand(denominator)))


@dataclass(frozen=True)
class Limit:
    """The limit of a quotient as one size tends to infinity: 0, unbounded, or a quotient of the other sizes."""

    kind: str  # "0", "unbounded" or "finite"
    shown: Tree | None = None

    def value(self, numbers: Mapping[Symbol, int]) -> Fraction | None:
        """Return the exact value of a finite limit, or None if it is not finite or a size has no number."""
        at = None if self.shown is None else substitute(value(self.shown), dict(numbers))
        return Fraction(int(at.p), int(at.q)) if at is not None and at.is_Rational else None

    def to_json(self) -> str:
        """Return ``0``, ``unbounded``, or the quotient."""
        return self.kind if self.shown is None else code(self.shown)


def bounded(conditions: Iterable[Condition]) -> frozenset[Symbol]:
    """Return the sizes that cannot grow while the others stay fixed: K of ``K <= X`` and G of ``G divides A``.

    >>> from symformer.language.sizes import AtMost, Divides
    >>> from symformer.language.symbols import A, E, G, K, X
    >>> sorted(map(str, bounded([AtMost(K, X), Divides(G, A), Divides(2 * A, E)])))
    ['A', 'G', 'K']
    """
    found: set[Symbol] = set()
    for each in conditions:
        match each:
            case Divides(divisor=small, dividend=large) | AtMost(low=small, high=large):
                growing = small.free_symbols - large.free_symbols
                found |= {size for size in growing if small.is_polynomial(size)}
    return frozenset(found)


def limits(above: Expr, below: Expr) -> dict[Symbol, Limit]:
    """Return the limit of a quotient of two polynomials as each of its sizes alone tends to infinity."""
    if below == 0:
        return {}
    first, second = map(expand, fraction(lowest_terms(above, below)))
    sizes = sorted(first.free_symbols | second.free_symbols, key=print_order)
    return {size: found for size in sizes if (found := limit(first, second, size)) is not None}


def limit(above: Expr, below: Expr, size: Symbol) -> Limit | None:
    """Return the limit of a quotient as one size tends to infinity, or None if the size is absent or it is undecided.

    >>> from symformer.language.symbols import C, C_win, E, H, L, V
    >>> each = limit(12*L*E**2 + V*E, 3*L*E*H + V*E, L)
    >>> each.kind, value(each.shown)
    ('finite', 4*E/H)
    >>> limit(C + V, Min(C, C_win), C).kind, limit(Min(C, C_win), C + V, C).kind, limit(E, H, L)
    ('unbounded', '0', None)
    """
    if size not in above.free_symbols | below.free_symbols:
        return None
    upper, lower = _leading(above, size), _leading(below, size)
    if upper is None or lower is None:
        return None
    (first, over), (second, under) = upper, lower
    if first != second:
        return Limit("0" if first < second else "unbounded")
    return Limit("finite", quotient(over, under))


def _leading(polynomial: Expr, size: Symbol) -> tuple[int, Expr] | None:
    """Return the highest power of a size and its positive coefficient, or None if the sign is undecided."""
    found = coefficients(expand(_in_the_end(polynomial, size)), size)
    return (len(found) - 1, found[0]) if found and (found[0].is_positive or constant_sign(found[0]) == 1) else None


def _in_the_end(expr: Expr, size: Symbol) -> Expr:
    """Return an expression for a large size: the constant arguments of each min, the growing argument of each max."""
    for each in sorted(expr.atoms(Min, Max), key=str):
        grows = [argument for argument in each.args if size in argument.free_symbols]
        stays = [argument for argument in each.args if argument not in grows]
        if not grows or any(argument.has(Min, Max, floor, ceiling) for argument in grows):
            continue
        powers = [_leading(argument, size) for argument in grows]
        if any(power is None or power[0] == 0 for power in powers):
            continue
        if isinstance(each, Min) and stays:
            return _in_the_end(expr.xreplace({each: Min(*stays)}), size)
        if isinstance(each, Max) and len(grows) == 1:
            return _in_the_end(expr.xreplace({each: grows[0]}), size)
    return expr
