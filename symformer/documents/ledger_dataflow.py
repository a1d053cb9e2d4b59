"""The places of parts in a ledger, and the data flow between operations."""

from __future__ import annotations

from collections.abc import Iterator

from ..ledger.facts import REUSED_KEYS, REUSED_VALUES, Entry, Ledger, Scope, Tensor, Weight

Item = Entry | Scope


def scope_of(part: object, path: str, ledger: Ledger, placed: bool = False) -> Scope | None:
    """Return the scope of a part at a path, or else at the most similar path that contains the same part.

    With ``placed``, the ledger is of one rank, so the part is identified by its class and path only.
    """
    scopes = scopes_in(ledger.apart.root, "")
    if placed:
        return next((scope for where, scope in scopes if where == path and type(scope.part) is type(part)), None)
    alike = {where: scope for where, scope in scopes if scope.part == part}
    if path in alike or path.endswith("*"):  # a part shared by several kinds of layers is not a layer
        return alike.get(path)
    ends = path.split(".")[::-1]
    return alike[max(alike, key=lambda where: _same(where.split(".")[::-1], ends))] if alike else None


def scopes_of(part: object, path: str, ledger: Ledger, placed: bool = False) -> list[tuple[str, Scope]]:
    """Return every path and scope of a part: a part shared by several kinds of layers occurs in each kind."""
    kinds = [scope for scope in ledger.apart.root.walk() if scope.mixture and _inside(path, scope.mixture.path)]
    if not kinds:
        scope = scope_of(part, path, ledger, placed)
        return [(path, scope)] if scope else []
    every: dict[str, Scope] = {}
    for where, scope in scopes_in(ledger.apart.root, ""):  # parts without a name have the path of the part around them
        if where not in every or type(every[where].part) is not type(part):
            every[where] = scope
    found: list[tuple[str, Scope]] = []
    for kind in kinds:
        if kind.mixture is None:
            continue
        where = ".".join(filter(None, (kind.mixture.above, kind.name))) + path.removeprefix(kind.mixture.path)
        found += [(where, every[where])] if where in every else []
    return found


def _inside(path: str, outer: str) -> bool:
    return f"{path}.".startswith(f"{outer}.")


def _same(one: list[str], other: list[str]) -> int:
    """Return the number of leading words that two lists have in common."""
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def scopes_in(scope: Scope, path: str) -> Iterator[tuple[str, Scope]]:
    here = ".".join(filter(None, (path, scope.name)))
    yield here, scope
    for item in scope.items:
        if isinstance(item, Scope):
            yield from scopes_in(item, here)


def items_of(scope: Scope) -> Iterator[Item]:
    """Yield the operations and parts in a part; parts without weights or without a name are replaced by their items."""
    for item in scope.items:
        nameless = isinstance(item, Scope) and not item.name  # torch has no module there
        stores = isinstance(item, Scope) and any(entry.weights for entry in entries_of(item))
        if isinstance(item, Scope) and (nameless or not (item.repeated or stores)):
            yield from items_of(item)
        else:
            yield item


def weights_of(scope: Scope) -> Iterator[Weight]:
    return (weight for entry in entries_of(scope) for weight in entry.weights)


def entries_of(scope: Scope) -> Iterator[Entry]:
    for item in scope.items:
        if isinstance(item, Entry):
            yield item
        else:
            yield from entries_of(item)


def given_by(item: Item) -> Tensor:
    if isinstance(item, Entry):
        return item.output
    return item.loop[2] if item.loop else [entry.output for entry in entries_of(item)][-1]


def read_by(item: Item) -> list[Tensor]:
    """Return the inputs of an operation or a part, in order; repeated layers in it count by the first layer's input.

    The keys and values of an earlier layer are inputs of operations only.
    """
    if isinstance(item, Entry):
        return list(item.inputs)
    own = {id(entry.output) for entry in entries_of(item)}
    own |= {id(x) for below in item.walk() if below is not item and below.loop for x in below.loop[1:]}
    stored = {weight.path for weight in weights_of(item)}
    read: dict[object, Tensor] = {}
    for x in _inputs(item):
        reused = isinstance(item, Scope) and x.root.name.rpartition(".")[2] in (REUSED_KEYS, REUSED_VALUES)
        if id(x.root) not in own and x.root.name not in stored and not reused:
            piece = piece_of(x)
            read.setdefault((id(x.root), piece and piece.place), x)
    return list(read.values())


def _inputs(scope: Scope) -> Iterator[Tensor]:
    for item in scope.items:
        if isinstance(item, Entry):
            yield from item.inputs
        else:
            yield from item.loop[:1] if item.loop else ()
            yield from _inputs(item)


def piece_of(x: Tensor) -> Tensor | None:
    """Return the piece of a split that a view looks into, or None."""
    while x.base is not None:
        if x.place is not None:
            return x
        x = x.base
    return None
