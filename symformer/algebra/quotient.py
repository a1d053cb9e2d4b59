"""One polynomial over another: in lowest terms, its number exactly, and where it goes as one size grows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from sympy import Add, Expr, Max, Min, Symbol, cancel, ceiling, expand, floor, fraction

from ..formulas.formula import lowest
from ..language.notation.text import code
from ..language.notation.tree import Fraction as Quotient
from ..language.notation.tree import Tree, tree, value
from ..language.sizes import put_in
from ..language.symbols import RANK
from .crossover import always, coefficients

MAX_PAIRS = 20_000  # of terms, up to which common factors are looked for that are sums


def reduced(above: Expr, below: Expr) -> Expr:
    """A quotient without common factors, or without those that are sums where there are too many terms to look."""
    pairs = len(Add.make_args(above)) * len(Add.make_args(below))
    return cancel(above / below) if pairs <= MAX_PAIRS else lowest(above, below)


def quotient(above: Expr, below: Expr) -> Tree | None:
    """A quotient of two polynomials as it is shown; None where the lower is 0 at every size."""
    if below == 0:
        return None
    numerator, denominator = fraction(reduced(above, below))
    return tree(expand(numerator)) if denominator == 1 else Quotient(tree(expand(numerator)), tree(expand(denominator)))


@dataclass(frozen=True)
class Limit:
    """Where a quotient goes as one size grows and all others stay: to nothing, without bound, or to a quotient."""

    kind: str  # "0", "unbounded" or "finite"
    shown: Tree | None = None

    def value(self, numbers: Mapping[Symbol, int]) -> Fraction | None:
        """Its number, exactly; None where there is none, or a size has none."""
        at = None if self.shown is None else put_in(value(self.shown), dict(numbers))
        return Fraction(int(at.p), int(at.q)) if at is not None and at.is_Rational else None

    def to_json(self) -> str:
        """``0``, ``unbounded``, or the quotient."""
        return self.kind if self.shown is None else code(self.shown)


def limits(above: Expr, below: Expr) -> dict[Symbol, Limit]:
    """For each size that is left in a quotient of two polynomials, where that goes as it alone grows."""
    if below == 0:
        return {}
    first, second = map(expand, fraction(reduced(above, below)))
    sizes = sorted(first.free_symbols | second.free_symbols, key=RANK.__getitem__)
    return {size: found for size in sizes if (found := limit(first, second, size)) is not None}


def limit(above: Expr, below: Expr, size: Symbol) -> Limit | None:
    """Where a quotient goes as one size grows. None where the size is not in it, or that is not certain.

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
    """The highest power of a size, and what is multiplied by it, which is positive; None where that is not certain."""
    found = coefficients(expand(_in_the_end(polynomial, size)), size)
    return (len(found) - 1, found[0]) if found and (found[0].is_positive or always(found[0]) == 1) else None


def _in_the_end(expr: Expr, size: Symbol) -> Expr:
    """An expression once a size is large: of a min what does not grow, of a max what does."""
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
