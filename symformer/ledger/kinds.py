"""Layers of several kinds: what all of them have is one entry of the ledger, and what is a kind's own stands beside it.

Each kind is first written in a scope of its own, one kind after another. What then stands in all of them alike, shape
by shape, goes into one scope that is repeated for all layers; the rest stays with its kind.
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
    """The ledger of what was written, in which what several kinds of layers have alike is one entry."""
    if not any(scope.mixture for scope in root.walk()):
        return Ledger(root, output)
    apart = Ledger(root, output)
    moves = _Moves(apart)
    whole = moves.rewritten(root)
    return Ledger(whole, _each(output, moves.now), apart, moves.copies)


def mixtures(apart: Ledger) -> dict[Mixture, list[Scope]]:
    """The layers of several kinds of a ledger in which the kinds are apart, each with its kinds."""
    found: dict[Mixture, list[Scope]] = {}
    for scope in apart.root.walk():
        if scope.mixture is not None:
            found.setdefault(scope.mixture, []).append(scope)
    return found


class _Moves:
    """What becomes of each tensor of a ledger once entries are shared, and of what each entry is made."""

    def __init__(self, apart: Ledger) -> None:
        self.outputs = {id(entry.output) for _, entry in apart}
        self.copies: dict[Entry, tuple[tuple[Expr, Entry], ...]] = {}
        self.renamed: dict[str, str] = {}  # the paths of a kind's weights that all kinds have
        self._moved: dict[int, Tensor] = {}
        self._held: list[Tensor] = []  # whose ids are in use above

    def rewritten(self, scope: Scope) -> Scope:
        """A scope with its layers of several kinds shared, and all that follows them reading what these give."""
        items: list[Item] = []
        for mixture, alike in groupby(scope.items, lambda item: item.mixture if isinstance(item, Scope) else None):
            if mixture is None:
                items += [self.rewritten(item) if isinstance(item, Scope) else self.settled(item) for item in alike]
            else:
                items += _Sharing([item for item in alike if isinstance(item, Scope)], mixture, self).split()
        return replace(scope, items=items, loop=_each(scope.loop, self.now), handed=_each(scope.handed, self.now))

    def settled(self, entry: Entry, now: Callable[[Tensor], Tensor] | None = None) -> Entry:
        """An entry that reads what tensors are now."""
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
        """What a tensor is once entries are shared: a view follows what it looks into."""
        if id(tensor) not in self._moved and tensor.base is not None:
            base = self.now(tensor.base)
            if base is not tensor.base:
                self.move(tensor, replace(tensor, base=base, grad=base.grad))
        return self._moved.get(id(tensor), tensor)

    def own(self, tensor: Tensor) -> Tensor:
        """What a kind's own entry reads, whose layers may need another gradient than all together do."""
        now = self.now(tensor)
        return now if now.grad == tensor.grad else replace(now, base=now, grad=tensor.grad)

    def made(self, entry: Entry, of: tuple[tuple[Expr, Entry], ...]) -> Entry:
        """An entry that stands for several."""
        self.copies[entry] = of
        return entry


class _Sharing:
    """The kinds of one mixture, one of which stands for all that is shared."""

    def __init__(self, kinds: Sequence[Scope], mixture: Mixture, moves: _Moves) -> None:
        self.kinds, self.mixture, self.moves = kinds, mixture, moves
        above = mixture.path.rpartition(".*")[0].rpartition(".")[0]
        self.paths = [".".join(filter(None, (above, kind.name))) for kind in kinds]
        self.outside = [moves.outputs - {id(entry.output) for _, entry in Ledger(kind, None)} for kind in kinds]

    def split(self) -> list[Scope]:
        """What all kinds share, and what is each kind's own."""
        loops = [kind.loop for kind in self.kinds if kind.loop is not None]
        given, first, last = loops[0]
        inner = replace(first, grad=self._grad([each.grad for _, each, _ in loops]))
        for _, each, _ in loops:
            self.moves.move(each, inner)
        items, own = self._divide(self.kinds)
        name = self.mixture.path.rpartition(".*")[0].rpartition(".")[2]
        whole = replace(
            self.kinds[-1],
            name=f"{name}.*",
            count=self.mixture.total,
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
                items=[self._settled(item, self.moves.own) for item in some],
            )
            for kind, some in zip(self.kinds, own, strict=True)
        ]
        return [scope for scope in (whole, *rest) if scope.items]

    def _settled(self, item: Item, now: Callable[[Tensor], Tensor]) -> Item:
        if isinstance(item, Scope):
            return replace(item, items=[self._settled(each, now) for each in item.items])
        return self.moves.settled(item, now)

    def _divide(self, scopes: Sequence[Scope]) -> tuple[list[Item], list[list[Item]]]:
        """What stands in all of these scopes, and what does not, in the order of each."""
        named = [_named(scope, path) for scope, path in zip(scopes, self.paths, strict=True)]
        shared: list[Item] = []
        own: list[list[Item]] = [[] for _ in scopes]
        halves: dict[str, list[Item | None]] = {}  # of a part that is shared in part, each kind's own half
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
        """Whether entries say the same, and read the same of what stands outside their layers."""
        first, *others = (_facts(entry, path) for entry, path in zip(entries, self.paths, strict=True))
        read, *reads = (
            tuple(id(x) if id(x) in outside else None for x in map(_root, entry.inputs))
            for entry, outside in zip(entries, self.outside, strict=True)
        )
        return all(other == first for other in others) and all(other == read for other in reads)

    def _shared(self, entries: Sequence[Entry]) -> Entry:
        """One entry for all kinds, under the path of what is shared."""
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
        """A weight of the first kind, as one that is shared."""
        return Weight(self.mixture.path + weight.path.removeprefix(self.paths[0]), weight.shape)

    def _grad(self, grads: Sequence[Expr]) -> Expr:
        """The share of all layers that need a gradient, from the share of each kind's."""
        if len(set(grads)) == 1:
            return grads[0]
        counts = [kind.count for kind in self.kinds]
        without = Add(*(count * (1 - grad) for count, grad in zip(counts, grads, strict=True)))
        return (self.mixture.total - cancel(without)) / self.mixture.total


def _root(tensor: Tensor) -> Tensor:
    """What a view looks into."""
    return tensor if tensor.base is None else _root(tensor.base)


def _each(fact: Any, now: Callable[[Tensor], Tensor]) -> Any:
    """A fact of an entry with its tensors as they are now."""
    if isinstance(fact, tuple):
        return tuple(_each(one, now) for one in fact)
    return now(fact) if isinstance(fact, Tensor) else fact


def _named(scope: Scope, path: str) -> Mapping[str, Item]:
    """The items of a scope by their names, the second of a name apart from the first."""
    found: dict[str, Item] = {}
    for item in scope.items:
        name = item.name if isinstance(item, Scope) else item.path.removeprefix(path)
        while name in found:
            name += "'"
        found[name] = item
    return found


def _facts(value: Any, path: str) -> Any:
    """All that an entry says: paths from its kind's scope on, tensors without what they are called and made of."""
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
