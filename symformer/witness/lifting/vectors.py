"""What no product reads: tables whose rows are looked up, and the vectors of norms."""

from __future__ import annotations

from sympy import Integer

from ...ledger.facts import ONE, Entry, Kind, Tensor
from ..traced import Class
from .sights import Row, Sights, again, agreed, in_symbols, size_of, star


def table(sights: Sights, stored: Class) -> Entry | None:
    """A table whose rows are looked up: by what, a run with numbers tells."""
    path, shape = stored
    if sights.real is None or len(shape) != 2:
        return None
    by = agreed(frozenset(kinds) for name, kinds in sights.real.seen.tables.items() if star(name) == path)
    if by is None or len(by) != 1 or not by <= {"tokens", "positions", "segments"}:
        return None
    index = in_symbols(
        (sight, each) for sight in sights.all for name, some in sight.seen.indices.items()
        if star(name) == path for each in some
    )  # fmt: skip
    if index is None:
        return None
    (function,) = by
    read = (Tensor("index", index),)
    return sights.entry(Kind.LOOKUP, path.rpartition(".")[0], read, (*index, shape[1]), (stored,), function=function)


def norm(sights: Sights, stored: Class) -> list[Row]:
    """Vectors alone in their module, of which a run with numbers shows which norm they scale."""
    path, shape = stored
    module = path.rpartition(".")[0]
    if stored in sights.used or sights.real is None:
        return []
    function = agreed(frozenset(kinds) for name, kinds in sights.real.seen.norms.items() if star(name) == module)
    normed = [(sight, some) for sight in sights.all for name, some in sight.seen.normed.items() if star(name) == module]
    read = in_symbols((sight, each[:-1]) for sight, some in normed for each in some)
    often = dict.fromkeys(factors[0] for _, factors in sights.products.counts)
    times = size_of(((sight, some.total()) for sight, some in normed), [ONE, *often])
    if function is None or len(function) != 1 or "" in function or read is None or times is None:
        return []
    counts = sights.stored.counts[stored]
    held = [row for row in sights.stored.counts if row[0].rpartition(".")[0] == module and row[1] == shape]
    if any(sights.stored.counts[row] != counts for row in held) or not (counts or isinstance(times, Integer)):
        return []
    (which,) = function
    x = Tensor("x", (*read, shape[0]), grad=ONE)
    entry = sights.entry(Kind.NORM, module, (x,), x.shape, tuple(held), function=which)
    return again((counts, entry), times)
