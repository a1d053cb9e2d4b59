"""Where parts stand in a ledger, and what reads what: tensors followed from operation to operation."""

from __future__ import annotations

from collections.abc import Iterator

from ..ledger.facts import Entry, Ledger, Scope, Tensor, Weight

Item = Entry | Scope


def scope_of(part: object, path: str, ledger: Ledger, placed: bool = False) -> Scope | None:
    """Where a part stands in a ledger: at this path, or else at the one most like it where the same part stands.

    Of a part as one rank has it only its class and its path are the same.
    """
    scopes = scopes_in(ledger.apart.root, "")
    if placed:
        return next((scope for where, scope in scopes if where == path and type(scope.part) is type(part)), None)
    alike = {where: scope for where, scope in scopes if scope.part == part}
    if path in alike or path.endswith("*"):  # what layers of several kinds share is no layer by itself
        return alike.get(path)
    ends = path.split(".")[::-1]
    return alike[max(alike, key=lambda where: _same(where.split(".")[::-1], ends))] if alike else None


def scopes_of(part: object, path: str, ledger: Ledger, placed: bool = False) -> list[tuple[str, Scope]]:
    """The same, by where each stands: what layers of several kinds share stands in the layers of each kind."""
    kinds = [scope for scope in ledger.apart.root.walk() if scope.mixture and _inside(path, scope.mixture.path)]
    if not kinds:
        scope = scope_of(part, path, ledger, placed)
        return [(path, scope)] if scope else []
    every = dict(scopes_in(ledger.apart.root, ""))
    found = []
    for kind in kinds:
        shared = kind.mixture.path if kind.mixture else ""
        own = shared.removesuffix(shared.rpartition(".")[0].rpartition(".")[2] + ".*") + kind.name
        where = own + path.removeprefix(shared)
        found += [(where, every[where])] if where in every else []
    return found


def _inside(path: str, outer: str) -> bool:
    return f"{path}.".startswith(f"{outer}.")


def _same(one: list[str], other: list[str]) -> int:
    """How many words two paths have in common, from their ends."""
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def scopes_in(scope: Scope, path: str) -> Iterator[tuple[str, Scope]]:
    here = ".".join(filter(None, (path, scope.name)))
    yield here, scope
    for item in scope.items:
        if isinstance(item, Scope):
            yield from scopes_in(item, here)


def items_of(scope: Scope) -> Iterator[Item]:
    """The operations and the parts of a part; one that stores nothing, or has no name, is what it does."""
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
    """What an operation or a part reads that was made before it, in order; of layers in it, what the first reads."""
    if isinstance(item, Entry):
        return list(item.inputs)
    own = {id(entry.output) for entry in entries_of(item)}
    own |= {id(x) for below in item.walk() if below is not item and below.loop for x in below.loop[1:]}
    stored = {weight.path for weight in weights_of(item)}
    read: dict[int, Tensor] = {}
    for x in _inputs(item):
        if id(root_of(x)) not in own and root_of(x).name not in stored:
            read.setdefault(id(x), x)
    return list(read.values())


def _inputs(scope: Scope) -> Iterator[Tensor]:
    for item in scope.items:
        if isinstance(item, Entry):
            yield from item.inputs
        else:
            yield from item.loop[:1] if item.loop else ()
            yield from _inputs(item)


def root_of(x: Tensor) -> Tensor:
    while x.base is not None:
        x = x.base
    return x


def piece_of(x: Tensor) -> Tensor | None:
    """The piece of a split that a view is of, if it is of one."""
    while x.base is not None:
        if x.place is not None:
            return x
        x = x.base
    return None
