"""Merge the terms of separated layer kinds into the entries that represent all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sympy import Add, Expr

from ..formulas.account import Term
from ..ledger.facts import Entry, Ledger

Terms = Mapping[int, tuple[Term, ...]]  # by the identity of an entry


def merge_terms(ledger: Ledger, apart: Terms) -> dict[int, tuple[Term, ...]]:
    """Return the terms of each entry of a ledger, merged from the entries it represents in ``ledger.apart``.

    Parameters
    ----------
    ledger : Ledger
        A ledger in which entries that several layer kinds share are merged.
    apart : Terms
        The terms of each entry of ``ledger.apart``, by the identity of the entry.

    """
    found = {}
    for _, entry in ledger:
        (_, first), *others = copies = ledger.copies(entry)
        terms = apart.get(id(first), ())
        found[id(entry)] = _shared(entry, copies, apart) if others else terms
    return found


def _shared(entry: Entry, copies: Sequence[tuple[Expr, Entry]], apart: Terms) -> tuple[Term, ...]:
    """Return each distinct term once, weighted by the share of layers that have it."""
    shares: dict[Term, list[Expr]] = {}
    for share, each in copies:
        ours, theirs = _unlike(entry.path, each.path)
        for term in apart.get(id(each), ()):
            label = ours + term.label.removeprefix(theirs)
            shares.setdefault(replace(term, label=label), []).append(share)
    return tuple(
        term if len(some) == len(copies) else replace(term, factors=(*term.factors, Add(*some)))
        for term, some in shares.items()
    )


def _unlike(one: str, other: str) -> tuple[str, str]:
    """Return two paths without their common suffix: for ``layers`` and ``dense_layers``, "" and ``dense_``."""
    while one and other and one[-1] == other[-1]:
        one, other = one[:-1], other[:-1]
    return one, other
