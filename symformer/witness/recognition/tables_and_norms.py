"""Weights that no product reads: tables with row lookups, and the vectors of norms."""

from __future__ import annotations

from dataclasses import replace

from sympy import Integer

from ...catalogue.measured_model import Class
from ...ledger.facts import ONE, OperationKind, Tensor, Weight
from ..dataflow_roles import TableLookup
from .observations import (
    LENGTHS,
    Observation,
    Observations,
    Row,
    common_value,
    repeat_operation,
    size_of,
    star,
    symbolic_shape,
)

TABLES = {
    "tokens": "tokens",
    "decoder_input_ids": "tokens",
    "positions": "positions",
    "segments": "segments",
    "distances": "distances",
}  # the kind of a table's rows, by the index that selects them


def table(sights: Observations, stored: Class) -> list[Row]:
    """Return the lookups in a table, in one or several places; a run with values shows their indices."""
    path, shape = stored
    if sights.real is None or len(shape) != 2:
        return []
    real = common_value(tuple(some) for name, some in _looked(sights.real, path))
    seen = [(sight, some) for sight in sights.all for _, some in _looked(sight, path)]
    if not real or any(each.by not in TABLES for each in real) or any(len(some) != len(real) for _, some in seen):
        return []
    indices = [symbolic_shape((sight, some[place].shape) for sight, some in seen) for place in range(len(real))]
    homes = [path.rpartition(".")[0], *(each.module for each in real[1:])]  # the first lookup stores the table
    if any(index is None for index in indices) or any(home.count("*") != path.count("*") for home in homes):
        return []
    if any(
        each.first and not any(axis.has(*LENGTHS) for axis in index or ())
        for each, index in zip(real, indices, strict=True)
    ):
        return []  # the last rows of a table are not positions, and their start is specific to this run
    rows: list[Row] = []
    for each, home, index in zip(real, homes, indices, strict=True):
        assert index is not None
        facts = {"function": TABLES[each.by], "skipped": Integer(each.first if each.by == "positions" else 0)}
        held = ((), (Weight(*stored),)) if rows else ((stored,), ())
        read, wrote = (Tensor("index", index),), (*index, shape[1])
        entry = sights.entry(OperationKind.LOOKUP, home, read, wrote, held[0], shared=held[1], **facts)
        rows.append((sights.stored.counts[stored], entry))
    return rows


def _looked(sight: Observation, path: str) -> list[tuple[str, list[TableLookup]]]:
    """Return the lookups in a table, or in each of several tables, by name."""
    return [
        (name, [replace(each, module=star(each.module)) for each in some])
        for name, some in sight.seen.lookups.items()
        if star(name) == path
    ]


def norm(sights: Observations, stored: Class) -> list[Row]:
    """Return the norm of a module with only vectors; a run with values shows which norm they scale."""
    path, shape = stored
    module = path.rpartition(".")[0]
    if stored in sights.used or sights.real is None:
        return []
    function = common_value(frozenset(kinds) for name, kinds in sights.real.seen.norms.items() if star(name) == module)
    normed = [(sight, some) for sight in sights.all for name, some in sight.seen.normed.items() if star(name) == module]
    factors = [each for _, each in sights.products.counts]
    known = dict.fromkeys(axis for each in factors for axis in each[1:])
    read = symbolic_shape(((sight, each[:-1]) for sight, some in normed for each in some), known)
    often_so = dict.fromkeys(each[0] for each in factors)
    times = size_of(((sight, some.total()) for sight, some in normed), [ONE, *often_so])
    if function is None or len(function) != 1 or "" in function or read is None or times is None:
        return []
    counts = sights.stored.counts[stored]
    held = [row for row in sights.stored.counts if row[0].rpartition(".")[0] == module and row[1] == shape]
    if any(sights.stored.counts[row] != counts for row in held):
        return []
    (which,) = function
    x = Tensor("x", (*read, shape[0]), grad=ONE)
    entry = sights.entry(OperationKind.NORM, module, (x,), x.shape, tuple(held), function=which)
    return [repeat_operation((counts, entry), times)]
