"""Products of activations with a softmax between them: the scores of queries and keys, and the mix of values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from sympy import Add, Expr, cancel

from ...language.symbols import B
from ...ledger.facts import ONE, Entry, Kind, Mask, Tensor
from ..roles import Mix, Scores
from ..traced import Class
from .sights import LENGTHS, Numbers, Row, Sights, number


def attention(sights: Sights, row: Class, role: Scores | Mix) -> list[Row]:
    """The scores or the mix of each mask and window that was seen; nothing where these are not known."""
    scores = row if isinstance(role, Scores) else cast(Class, role.scores)
    found = [(counts, _core(sights, row, role, mask, window)) for counts, mask, window in _patterns(sights, scores)]
    known = [(counts, entry) for counts, entry in found if entry is not None]
    return known if len(known) == len(found) else []


def _core(sights: Sights, row: Class, role: Scores | Mix, mask: Mask, window: Expr | None) -> Entry | None:
    if len(row[1]) != 5:
        return None
    _, batch, rows, middle, columns = row[1]
    turned = isinstance(role, Mix) and role.last
    queries = batch * (columns if turned else rows)
    length = next((size for size in LENGTHS if queries.has(size)), None)
    if length is None:
        return None
    heads = cancel(queries / (B * length))
    if heads.has(length, B):
        return None
    module, _, _ = row[0].rpartition(".")
    if isinstance(role, Scores):
        keys, width = columns, middle
    else:
        keys, width = middle, (rows if turned else columns)
    groups = _groups(sights, row, heads, width, keys)
    if groups is None:
        return None
    stored = Tensor("k", (B, groups, keys, width), grad=ONE)
    if isinstance(role, Scores):
        q, scores = Tensor("q", (B, heads, length, width), grad=ONE), (B, heads, length, keys)
        return sights.entry(Kind.SCORES, f"{module}.scores", (q, stored), scores, (), mask=mask, window=window)
    p, mixed = Tensor("p", (B, heads, length, keys), grad=ONE), (B, heads, length, width)
    return sights.entry(Kind.MIX, f"{module}.mix", (p, stored), mixed, (), mask=mask, window=window)


def _groups(sights: Sights, row: Class, heads: Expr, width: Expr, keys: Expr) -> Expr | None:
    """The number of key/value heads: of elements that are not repeated, at every point."""
    seen: list[tuple[Numbers, int]] = []
    for sight, key in sights.found[row]:
        (role,) = sight.seen.roles[key]
        elements = role.keys if isinstance(role, Scores) else cast(Mix, role).values
        each = number(B * width * keys, sight.numbers)
        if each is None or elements % each:
            return None
        seen.append((sight.numbers, elements // each))
    module = row[0].rpartition(".")[0]
    widths = [dim for path, shape in sights.stored.counts if path.startswith(f"{module}.") for dim in shape]
    sizes = sorted(sights.all[-1].numbers, key=str)
    tried = [heads, ONE, *sizes, *(cancel(dim / width) for dim in widths)]
    return next((each for each in tried if all(number(each, at) == groups for at, groups in seen)), None)


def _patterns(sights: Sights, scores: Class) -> list[tuple[tuple[Expr, ...], Mask, Expr | None]]:
    """The masks and windows that a run with numbers showed, each with its number of layers; none where unknown."""
    real = sights.real
    if real is None:
        return []
    seen = real.seen.patterns.items()
    kinds = {frozenset(found) for key, found in seen if sights.classes.get((id(real), key)) == scores}
    known: dict[Expr | None, Mask] = {}
    counts = sights.products.counts[scores]
    patterns = {each for kind in kinds for each in kind}
    if len(patterns) > 1 and all(each is not None and each.mask == "none" for each in patterns):
        return [(counts, "none", None)]  # every pair is counted, and which layers look how far tells nothing
    for kind in kinds:
        (pattern, *others) = kind
        if others or pattern is None:
            return []
        window = next((size for size in sights.windows if real.numbers[size] == pattern.window), None)
        if window is None and pattern.mask == "none":
            return [(counts, "none", None)]
        if (pattern.window and window is None) or window in known:
            return []
        known[window] = pattern.mask
    if len(known) == 1:
        return [(counts, mask, window) for window, mask in known.items()]
    layers = {window: _layers(sights, window, known) for window in known}
    if not known or len(counts) != 1 or cancel(Add(*layers.values()) - counts[0]) != 0 or 0 in layers.values():
        return []  # a cache that keeps the same of both does not tell how many there are of each
    return [((layers[window],), mask, window) for window, mask in known.items()]


def _layers(sights: Sights, window: Expr | None, others: Iterable[Expr | None]) -> Expr:
    """The number of layers whose caches keep no more than a window does, and less than the others."""
    found = [
        counts[-1]
        for (path, shape), counts in sights.kept().counts.items()
        if path.endswith(".keys") and {*shape[2].free_symbols} & {*others} == ({window} - {None})
    ]
    return Add(*found)
