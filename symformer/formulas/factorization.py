"""Factoring of polynomials as a person would write them: first the factors common to the layers, then the next."""

from __future__ import annotations

from collections import Counter

from sympy import Expr, Mul, Symbol, expand, igcd

from ..language.errors import DerivationError
from ..language.notation.display_tree import (
    Minus,
    Product,
    Sum,
    Tree,
    house_key,
    ordered_terms,
    terms_tree,
    tree,
    value,
)
from ..language.notation.text import text
from ..language.symbols import letter, print_order

MOST = 400  # maximum terms to factor
LONG = 64  # characters of a bracket that fits a line


def factored(polynomial: Expr) -> Tree:
    """Return a sum with common factors in front of brackets, grouped by kind of layer, and verify that it is equal.

    >>> from symformer.language.symbols import A, D, E, G, H, L, V
    >>> text(factored(2*L*E*A*D + 2*L*E*G*D + 3*L*E*H + 2*L*E + 2*V*E + E))
    'LE(2D(A + G) + 3H + 2) + E(2V + 1)'
    """
    terms = ordered_terms(polynomial)
    if len(terms) > MOST:
        return tree(polynomial)
    layers: dict[frozenset[Symbol], list[Expr]] = {}
    for term in terms:
        depths = frozenset(size for size in term.free_symbols if letter(size).unit == "layers")
        layers.setdefault(depths, []).append(term)
    shown = terms_tree([each for alike in layers.values() for each in _short(_before_brackets(alike))])
    if expand(value(shown) - polynomial) != 0:
        raise DerivationError(f"the factored form {text(shown)} is not equal to {text(polynomial)}")
    return shown


def _short(shown: Tree) -> tuple[Tree, ...]:
    """Split a bracket too long for a line into one bracket per term."""
    if isinstance(shown, Sum):
        return tuple(each for term in shown.terms for each in _short(term))
    if isinstance(shown, Minus):
        return tuple(Minus(each) for each in _short(shown.operand))
    bracket = shown.factors[-1] if isinstance(shown, Product) else None
    if not isinstance(shown, Product) or not isinstance(bracket, Sum) or len(text(shown)) <= LONG:
        return (shown,)
    before = list(shown.factors[:-1])
    return tuple(each for term in bracket.terms for each in _short(_times(before, term)))


def _times(before: list[Tree], term: Tree) -> Tree:
    inside = term.factors if isinstance(term, Product) else (term,)
    if isinstance(inside[-1], Sum) and len(inside) > 1:
        return Product((*_joined([*before, *inside[:-1]]), inside[-1]))
    return tree(value(Product((*before, *inside))))


def _joined(factors: list[Tree]) -> tuple[Tree, ...]:
    """Return the factors before a bracket as one product, in house order."""
    product = tree(value(Product(tuple(factors))))
    return product.factors if isinstance(product, Product) else (product,)


def _before_brackets(terms: list[Expr]) -> Tree:
    """Return a sum with the common factor of its terms in front of a bracket."""
    if len(terms) == 1:
        return tree(terms[0])
    if all(term.as_coeff_Mul()[0] < 0 for term in terms):
        return Minus(_before_brackets([-term for term in terms]))
    common = _common(terms)
    inside = [_over(term, common) for term in terms]
    bracket = _nested(inside)
    if common == 1:
        return bracket
    before = tree(common)
    factors = before.factors if isinstance(before, Product) else (before,)
    return Product((*factors, bracket))


def _common(terms: list[Expr]) -> Expr:
    """Return the factor common to all terms: an integer and powers of sizes, including those in denominators."""
    numbers, powers = [], []
    for term in terms:
        number, rest = term.as_coeff_Mul()
        numbers.append(int(number) if number.is_Integer else 1)
        powers.append({base: int(power) for base, power in rest.as_powers_dict().items() if _is_power(base, power)})
    shared = Mul(igcd(*numbers))
    for base in powers[0]:
        found = [each.get(base, 0) for each in powers]
        if min(found) > 0 or max(found) < 0:
            shared *= base ** min(found, key=abs)
    return shared


def _is_power(base: Expr, power: Expr) -> bool:
    return isinstance(base, Symbol) and bool(power.is_Integer)


def _over(term: Expr, common: Expr) -> Expr:
    return expand(term / common)


def _nested(terms: list[Expr]) -> Tree:
    """Return a sum without an overall common factor, with terms that share a size grouped in brackets."""
    groups: list[list[Expr]] = []
    rest = list(terms)
    while rest:
        counts = Counter(size for term in rest for size in _factors(term))
        shared = [size for size, count in counts.items() if count > 1]
        if not shared:
            break
        best = min(shared, key=lambda size: (-counts[size], print_order(size)))
        groups.append([term for term in rest if best in _factors(term)])
        rest = [term for term in rest if best not in _factors(term)]
    together = [(min(group, key=house_key), _before_brackets(group)) for group in groups]
    together += [(term, tree(term)) for term in rest]
    return terms_tree([shown for _, shown in sorted(together, key=lambda each: house_key(each[0]))])


def _factors(term: Expr) -> set[Symbol]:
    return {base for base, power in term.as_powers_dict().items() if _is_power(base, power) and power > 0}
