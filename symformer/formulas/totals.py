"""A total in place of the sizes that it counts: what all kinds of layers come to alike is written with L once."""

from __future__ import annotations

from collections.abc import Iterable

from sympy import Add, Expr, Mul, Symbol

from ..language.sizes import Relations


def gathered(polynomial: Expr, totals: Relations) -> Expr:
    """An expanded polynomial in which terms alike for every kind are one: ``c·L_dense + c·L_moe`` is ``c·L``.

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
    alike: dict[Expr, dict[Expr, Expr]] = {}  # what a layer has -> in layers of which kinds, each with its term
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


def given_by(relations: Relations, totals: Iterable[Symbol]) -> Relations:
    """The relations that totals are given by."""
    return {total: relations[total] for total in totals}
