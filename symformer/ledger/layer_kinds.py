"""Layers of several kinds: merge operations that all kinds share into one entry, and keep the rest with each kind.

Each kind is first recorded in its own scope, one kind after another. Operations that are identical in all of them, in
every shape, then move to one scope that is repeated for all layers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from itertools import groupby
from typing import Any

from sympy import Add, Expr, cancel

from .facts import ONE, Entry, Ledger, Mixture, Scope, Tensor, Weight

Item = Entry | Scope


def sharing(root: Scope, output: Any) -> Ledger:
    """Return the ledger of the recorded scopes, with operations shared by several layer kinds merged.

    Parameters
    ----------
    root : Scope
        The scope of the whole part.
    output : Any
        The output of its forward pass.

    """
    if not any(scope.mixture for scope in root.walk()):
        return Ledger(root, output)
    apart = Ledger(root, output)
    moves = _Moves(apart)
    whole = moves.rewritten(root)
    return Ledger(whole, _each(output, moves.now), apart, moves.copies)


def mixtures(apart: Ledger) -> dict[Mixture, list[Scope]]:
    """Return the mixtures of layers in a ledger with separate kinds, each with the scopes of its kinds."""
    found: dict[Mixture, list[Scope]] = {}
    for scope in apart.root.walk():
        if scope.mixture is not None:
            found.setdefault(scope.mixture, []).append(scope)
    return found


class _Moves:
    """Maps tensors and entries to their merged versions."""

    def __init__(self, apart: Ledger) -> None:
        self.outputs = {id(entry.output) for _, entry in apart}
        self.copies: dict[Entry, tuple[tuple[Expr, Entry], ...]] = {}
        self.renamed: dict[str, str] = {}  # paths of weights that all kinds have: old -> new
        self._moved: dict[int, Tensor] = {}
        self._held: list[Tensor] = []  # keeps the tensors alive whose ids are keys of _moved

    def rewritten(self, scope: Scope) -> Scope:
        """Return a scope with merged layers, and with the following operations reading the merged tensors."""
        items: list[Item] = []
        for mixture, alike in groupby(scope.items, lambda item: item.mixture if isinstance(item, Scope) else None):
            if mixture is None:
                items += [self.rewritten(item) if isinstance(item, Scope) else self.settled(item) for item in alike]
            else:
                items += _Sharing([item for item in alike if isinstance(item, Scope)], mixture, self).split()
        return replace(scope, items=items, loop=_each(scope.loop, self.now), handed=_each(scope.handed, self.now))

    def settled(self, entry: Entry, now: Callable[[Tensor], Tensor] | None = None) -> Entry:
        """Return an entry that reads the merged tensors."""
        moved = {
            each.name: _each(getattr(entry, each.name), now or self.now)
            for each in fields(entry)
            if each.name != "output"
        }
        moved["shared"] = tuple(replace(each, path=self.renamed.get(each.path, each.path)) for each in entry.shared)
        found = replace(entry, **moved)
        self.copies[found] = self.copies.get(entry, ((ONE, entry),))
        return found

    def move(self, old: Tensor, new: Tensor) -> None:
        self._moved[id(old)] = new
        self._held.append(old)

    def now(self, tensor: Tensor) -> Tensor:
        """Return the merged version of a tensor; a view follows its base."""
        if id(tensor) not in self._moved and tensor.base is not None:
            base = self.now(tensor.base)
            if base is not tensor.base:
                self.move(tensor, replace(tensor, base=base, grad=base.grad))
        return self._moved.get(id(tensor), tensor)

    def own(self, tensor: Tensor) -> Tensor:
        """Return the merged version of a tensor with the gradient share of one kind's layers."""
        now = self.now(tensor)
        return now if now.grad == tensor.grad else replace(now, base=now, grad=tensor.grad)

    def made(self, entry: Entry, of: tuple[tuple[Expr, Entry], ...]) -> Entry:
        """Register an entry that represents several."""
        self.copies[entry] = of
        return entry


class _Sharing:
    """The kinds of one mixture; one of them represents the shared operations."""

    def __init__(self, kinds: Sequence[Scope], mixture: Mixture, moves: _Moves) -> None:
        self.kinds, self.mixture, self.moves = kinds, mixture, moves
        self.paths = [".".join(filter(None, (mixture.above, kind.name))) for kind in kinds]
        self.outside = [moves.outputs - {id(entry.output) for _, entry in Ledger(kind, None)} for kind in kinds]

    def split(self) -> list[Scope]:
        """Return the scope that all kinds share, then the scopes of each kind's own operations."""
        loops = [kind.loop for kind in self.kinds if kind.loop is not None]
        given, first, last = loops[0]
        inner = replace(first, grad=self._grad([each.grad for _, each, _ in loops]))
        for _, each, _ in loops:
            self.moves.move(each, inner)
        items, own = self._divide(self.kinds)
        whole = replace(
            self.kinds[-1],
            name=self.mixture.name,
            count=self.mixture.total,
            among=self.mixture.total,
            mixture=None,
            loop=(self.moves.now(given), inner, self.moves.now(last)),
            items=[self._settled(item, self.moves.now) for item in items],
        )
        rest = [
            replace(
                kind,
                mixture=None,
                loop=None,
                among=self.mixture.total,
                listed=self.mixture.path,
                items=[self._settled(item, self.moves.own) for item in some],
            )
            for kind, some in zip(self.kinds, own, strict=True)
        ]
        # A kind without operations of its own is kept, with the names of its layers.
        return [*([whole] if whole.items else []), *rest]

    def _settled(self, item: Item, now: Callable[[Tensor], Tensor]) -> Item:
        if isinstance(item, Scope):
            return replace(item, items=[self._settled(each, now) for each in item.items])
        return self.moves.settled(item, now)

    def _divide(self, scopes: Sequence[Scope]) -> tuple[list[Item], list[list[Item]]]:
        """Return the items that all of these scopes share, and the other items of each, in order."""
        named = [_named(scope, path) for scope, path in zip(scopes, self.paths, strict=True)]
        shared: list[Item] = []
        own: list[list[Item]] = [[] for _ in scopes]
        halves: dict[str, list[Item | None]] = {}  # of a partly shared part: the rest of each kind
        for name in named[0]:
            alike = [items.get(name) for items in named]
            scoped = [item for item in alike if isinstance(item, Scope)]
            entries = [item for item in alike if isinstance(item, Entry)]
            if len(scoped) == len(alike) and len({(type(item.part), item.count) for item in scoped}) == 1:
                common, rest = self._divide(scoped)
                if common:
                    shared.append(replace(scoped[-1], items=common))
                halves[name] = [
                    replace(item, items=some) if some or not common else None
                    for item, some in zip(scoped, rest, strict=True)
                ]
            elif len(entries) == len(alike) and self._same(entries):
                shared.append(self._shared(entries))
                halves[name] = [None for _ in alike]
            else:
                halves[name] = list(alike)
        for number, items in enumerate(named):
            for name, item in items.items():
                half = halves[name][number] if name in halves else item
                if half is not None:
                    own[number].append(half)
        return shared, own

    def _same(self, entries: Sequence[Entry]) -> bool:
        """Return True if entries are identical and read the same tensors from outside their layers."""
        first, *others = (_facts(entry, path) for entry, path in zip(entries, self.paths, strict=True))
        read, *reads = (
            tuple(id(x.root) if id(x.root) in outside else None for x in entry.inputs)
            for entry, outside in zip(entries, self.outside, strict=True)
        )
        return all(other == first for other in others) and all(other == read for other in reads)

    def _shared(self, entries: Sequence[Entry]) -> Entry:
        """Return one entry for all kinds, under the path of the shared scope."""
        first = entries[0]
        path = self.mixture.path + first.path.removeprefix(self.paths[0])
        output = replace(first.output, name=path, grad=self._grad([entry.output.grad for entry in entries]))
        for entry in entries:
            self.moves.move(entry.output, output)
        weights = tuple(self._renamed(weight) for weight in first.weights)
        for each in entries:
            self.moves.renamed |= {old.path: new.path for old, new in zip(each.weights, weights, strict=True)}
        shares = (kind.count / self.mixture.total for kind in self.kinds)
        found = replace(first, path=path, output=output, weights=weights)
        return self.moves.made(found, tuple(zip(shares, entries, strict=True)))

    def _renamed(self, weight: Weight) -> Weight:
        """Return a weight of the first kind under the path of the shared scope."""
        return Weight(self.mixture.path + weight.path.removeprefix(self.paths[0]), weight.shape)

    def _grad(self, grads: Sequence[Expr]) -> Expr:
        """Return the share of all layers that need a gradient, from the shares of the kinds."""
        if len(set(grads)) == 1:
            return grads[0]
        counts = [kind.count for kind in self.kinds]
        without = Add(*(count * (1 - grad) for count, grad in zip(counts, grads, strict=True)))
        return (self.mixture.total - cancel(without)) / self.mixture.total


def _each(fact: Any, now: Callable[[Tensor], Tensor]) -> Any:
    """Return a field of an entry with its tensors replaced by the merged ones."""
    if isinstance(fact, tuple):
        return tuple(_each(one, now) for one in fact)
    return now(fact) if isinstance(fact, Tensor) else fact


def _named(scope: Scope, path: str) -> Mapping[str, Item]:
    """Return the items of a scope by name; duplicate names get a prime."""
    found: dict[str, Item] = {}
    for item in scope.items:
        name = item.name if isinstance(item, Scope) else item.path.removeprefix(path)
        while name in found:
            name += "'"
        found[name] = item
    return found


def _facts(value: Any, path: str) -> Any:
    """Return the comparable facts of an entry: paths relative to its scope, tensors without name, base and gradient."""
    if isinstance(value, Entry):
        return tuple(_facts(getattr(value, each.name), path) for each in fields(value))
    if isinstance(value, Tensor):
        told = (each.name for each in fields(value) if each.name not in ("name", "base", "grad"))
        return tuple(getattr(value, name) for name in told)
    if isinstance(value, Weight):
        return value.path.removeprefix(path), value.shape
    if isinstance(value, tuple):
        return tuple(_facts(each, path) for each in value)
    return value.removeprefix(path) if isinstance(value, str) else value
