"""Totals: terms that all kinds of layers share are written once with L instead of once per kind."""

from __future__ import annotations

from collections.abc import Iterable

from sympy import Add, Expr, Mul, Symbol

from ..language.sizes import Relations
from ..language.symbols import print_order
from ..output.blocks import Line, Math


def gathered(polynomial: Expr, totals: Relations) -> Expr:
    """Combine the terms of an expanded polynomial that all kinds share: ``c·L_dense + c·L_moe`` becomes ``c·L``.

    >>> from symformer.language.symbols import E, H, L, L_dense, L_moe
    >>> gathered(4*E**2*L_dense + 3*E*H*L_dense + 4*E**2*L_moe, {L: L_dense + L_moe})
    4*E**2*L + 3*E*H*L_dense
    """
    for total, counted in totals.items():
        kinds = Add.make_args(counted)
        if len(kinds) > 1 and all(kind.is_Symbol for kind in kinds):
            polynomial = _gathered(Add.make_args(polynomial), total, kinds)
    return polynomial


def _gathered(terms: Iterable[Expr], total: Symbol, kinds: tuple[Expr, ...]) -> Expr:
    alike: dict[Expr, dict[Expr, Expr]] = {}  # amount per layer -> kinds of layers with it, each with its term
    others: list[Expr] = []
    for term in terms:
        factors = Mul.make_args(term)
        own = [kind for kind in kinds if kind in factors]
        if len(own) == 1:
            alike.setdefault(Mul(*(factor for factor in factors if factor != own[0])), {})[own[0]] = term
        else:
            others.append(term)
    for each, found in alike.items():
        others += [each * total] if len(found) == len(kinds) else found.values()
    return Add(*others)


def definitions(relations: Relations, sizes: Iterable[Symbol]) -> list[Line]:
    """Return a line with the definition of each of some sizes, in the order of the alphabet.

    >>> from symformer.language.symbols import L, L_dense, L_moe
    >>> from symformer.output.blocks import plain
    >>> [plain(line) for line in definitions({L: L_dense + L_moe}, [L])]
    ['where L = L_dense + L_moe']
    """
    return [["where ", Math.of(size), " = ", Math.of(relations[size])] for size in sorted(sizes, key=print_order)]


def given_by(relations: Relations, totals: Iterable[Symbol]) -> Relations:
    """Return the relations that define totals, those over most kinds of layers first, so that L is collected first.

    >>> from symformer.language.symbols import L, L_dense, L_global, L_loc_x, L_moe
    >>> sums = {L_moe: L_loc_x + L_global, L: L_dense + L_loc_x + L_global}
    >>> list(given_by(sums, sums))
    [L, L_moe]
    """
    ordered = sorted(totals, key=lambda total: (-len(Add.make_args(relations[total])), print_order(total)))
    return {total: relations[total] for total in ordered}
