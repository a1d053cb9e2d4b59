"""Attention: products of activations with a softmax in between, the scores and the mix of values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from sympy import Add, Expr, Integer, cancel

from ...catalogue.measured_model import Class
from ...language.errors import WitnessError
from ...language.symbols import B
from ...ledger.facts import ONE, Entry, Mask, OperationKind, Tensor
from ..dataflow_roles import Scores, WeightedValues
from .observations import LENGTHS, Numbers, Observation, Observations, Row, number


@dataclass(frozen=True)
class AttendedKeys:
    """The keys that the queries of some layers attend to."""

    counts: tuple[Expr, ...]
    mask: Mask
    window: Expr | None
    chunked: bool = False  # True if the window is a chunk
    whole: bool = False  # True if their caches keep every token regardless of the window


def attention(sights: Observations, row: Class, role: Scores | WeightedValues) -> list[Row]:
    """Return the scores or the mix for each observed mask and window; [] if they are unknown."""
    scores = row if isinstance(role, Scores) else cast(Class, role.scores)
    found = [(each.counts, _core(sights, row, role, each)) for each in _patterns(sights, scores)]
    known = [(counts, entry) for counts, entry in found if entry is not None]
    return known if len(known) == len(found) else []


def _core(sights: Observations, row: Class, role: Scores | WeightedValues, seen: AttendedKeys) -> Entry | None:
    if len(row[1]) != 5:
        return None
    _, batch, rows, middle, columns = row[1]
    turned = isinstance(role, WeightedValues) and role.last
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
    facts: dict[str, Any] = {"mask": seen.mask, "window": seen.window, "whole": seen.whole, "chunked": seen.chunked}
    read = Tensor("k", (B, groups, keys, width), grad=ONE)
    if isinstance(role, Scores):
        q, scores = Tensor("q", (B, heads, length, width), grad=ONE), (B, heads, length, keys)
        return sights.entry(OperationKind.SCORES, f"{module}.scores", (q, read), scores, (), **facts)
    p, mixed = Tensor("p", (B, heads, length, keys), grad=ONE), (B, heads, length, width)
    return sights.entry(OperationKind.MIX, f"{module}.mix", (p, read), mixed, (), **facts)


def _groups(sights: Observations, row: Class, heads: Expr, width: Expr, keys: Expr) -> Expr | None:
    """Return the number of key/value heads, from the elements before repetition at every point."""
    seen: list[tuple[Numbers, int]] = []
    for sight, key in sights.found[row]:
        (role,) = sight.seen.roles[key]
        elements = role.keys if isinstance(role, Scores) else cast(WeightedValues, role).values
        each = number(B * width * keys, sight.numbers)
        if each is None or elements % each:
            return None
        seen.append((sight.numbers, elements // each))
    module = row[0].rpartition(".")[0]
    widths = [dim for path, shape in sights.stored.counts if path.startswith(f"{module}.") for dim in shape]
    sizes = sorted(sights.all[-1].numbers, key=str)
    tried = [heads, ONE, *sizes, *(cancel(dim / width) for dim in widths)]
    return next((each for each in tried if all(number(each, at) == groups for at, groups in seen)), None)


def _patterns(sights: Observations, scores: Class) -> list[AttendedKeys]:
    """Return the masks and windows in a run with values, each with its number of layers; [] if unknown."""
    if sights.real is None or not (order := _order(sights, sights.real, scores)):
        return []
    # With windows, the first layers say nothing about deeper ones.
    every = _order(sights, sights.deep, scores) if sights.windows and sights.deep is not None else []
    counts, kinds = sights.products.counts[scores], [*dict.fromkeys((*order, *every))]
    if len(kinds) == 1:
        return [AttendedKeys(counts, *kinds[0])]
    if all(mask == "none" for mask, *_ in kinds):  # every pair is counted, whatever the windows of the layers
        return [AttendedKeys(counts, "none", None)]
    if len(counts) != 1 or len({window for _, window, _ in kinds}) != len(kinds):
        return []
    layers = {kind: _layers(sights, kind[1], [window for _, window, _ in kinds]) for kind in kinds}
    if cancel(Add(*layers.values()) - counts[0]) == 0 and 0 not in layers.values():
        return [AttendedKeys((layers[kind],), *kind) for kind in kinds]
    # If all caches keep the same, their sizes do not show the number of layers of each kind; the order may.
    turn = next((some for some in range(len(kinds), len(every) // 2 + 1) if _comes_round(every, some)), 0)
    same = all(each == every[place % turn] for place, each in enumerate(order)) if turn else False
    if not turn or (len(order) % turn == 0 and not same):
        return []
    whole = sights.whole()
    shares = {kind: counts[0] * Integer(every[:turn].count(kind)) / turn for kind in kinds}
    return [AttendedKeys((shares[kind],), *kind, whole=whole and kind[1] is not None) for kind in kinds]


Kept = tuple[Mask, Expr | None, bool]  # a mask, a window, and whether it is a chunk


def _order(sights: Observations, sight: Observation, scores: Class) -> list[Kept]:
    """Return the mask and the window of each layer in order, or [] if any is unknown."""
    keys = [key for key in sight.seen.patterns if sights.classes.get((id(sight), key)) == scores]
    found: list[Kept] = []
    for key in sorted(keys, key=lambda key: [int(word) for word in key[0].split(".") if word.isdigit()]):
        (pattern, *others) = sight.seen.patterns[key]
        if others or pattern is None:
            return []
        length = pattern.window or pattern.chunk
        # Windows and chunks have the same length in these runs, so only the name of the field tells them apart.
        named = (size for size in sights.windows if ("chunk" in size.name) == bool(pattern.chunk))
        window = next((size for size in named if sight.numbers[size] == length), None)
        if length and window is None and pattern.mask == "causal":
            return []
        found.append((pattern.mask, window, bool(pattern.chunk)))
    return found


def _comes_round(order: Sequence[object], turn: int) -> bool:
    return all(each == order[place % turn] for place, each in enumerate(order))


def _layers(sights: Observations, window: Expr | None, others: Iterable[Expr | None]) -> Expr:
    """Return the number of layers whose caches keep only a window, and less than the others; 0 if unknown."""
    try:
        held = sights.cached().counts
    except WitnessError:  # the sizes of the caches have no formula
        return Integer(0)
    found = [
        counts[-1]
        for (path, shape), counts in held.items()
        if path.endswith(".keys") and {*shape[2].free_symbols} & {*others} == ({window} - {None})
    ]
    return Add(*found)
