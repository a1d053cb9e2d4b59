"""Layers of several kinds: what all of them have is written once, and what is a kind's own beside it.

Each kind is first written in a scope of its own, on the same input. What then stands in all of them alike, shape by
shape, goes into one scope that is repeated for all layers; the rest stays with its kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from sympy import Add, Expr, cancel

from .facts import Entry, Scope, Tensor, Weight

Item = Entry | Scope


@dataclass
class Sharing:
    """The scopes of kinds, one of which stands for all that is shared; and what each tensor becomes."""

    scopes: Sequence[Scope]
    paths: Sequence[str]  # of each kind's scope
    path: str  # of what is shared
    total: Expr  # how many layers there are of all kinds
    moved: dict[int, Tensor] = field(default_factory=dict)
    held: list[Tensor] = field(default_factory=list)  # whose ids are in use above

    def split(self, shared: Scope) -> tuple[Scope, list[Scope]]:
        """What all kinds share, in a scope made from this one, and what is each kind's own."""
        loops = [scope.loop for scope in self.scopes if scope.loop is not None]
        given, first, last = loops[0]
        inner = replace(first, grad=self._grad([each.grad for _, each, _ in loops]))
        for _, each, _ in loops:
            self._move(each, inner)
        items, own = self._divide(self.scopes)
        whole = replace(shared, items=[self._settled(item, self.now) for item in items])
        whole.loop = (given, inner, self.now(last))
        rest = [
            replace(scope, loop=None, among=self.total, items=[self._settled(item, self._own) for item in some])
            for scope, some in zip(self.scopes, own, strict=True)
        ]
        return whole, [scope for scope in rest if scope.items]

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
        first, *others = (_facts(entry, path) for entry, path in zip(entries, self.paths, strict=True))
        return all(other == first for other in others)

    def _shared(self, entries: Sequence[Entry]) -> Entry:
        """One entry for all kinds, under the path of what is shared."""
        first = entries[0]
        path = self.path + first.path.removeprefix(self.paths[0])
        output = replace(first.output, name=path, grad=self._grad([entry.output.grad for entry in entries]))
        for entry in entries:
            self._move(entry.output, output)
        weights = tuple(self.renamed(weight) for weight in first.weights)
        return replace(first, path=path, output=output, weights=weights)

    def renamed(self, weight: Weight) -> Weight:
        """A weight of the first kind, as one that is shared."""
        return Weight(self.path + weight.path.removeprefix(self.paths[0]), weight.shape)

    def _grad(self, grads: Sequence[Expr]) -> Expr:
        """The share of all layers that need a gradient, from the share of each kind's."""
        if len(set(grads)) == 1:
            return grads[0]
        counts = [scope.count for scope in self.scopes]
        without = Add(*(count * (1 - grad) for count, grad in zip(counts, grads, strict=True)))
        return (self.total - cancel(without)) / self.total

    def _move(self, old: Tensor, new: Tensor) -> None:
        self.moved[id(old)] = new
        self.held.append(old)

    def now(self, tensor: Tensor) -> Tensor:
        """What a tensor is once entries are shared: a view follows what it looks into."""
        if id(tensor) not in self.moved and tensor.base is not None:
            base = self.now(tensor.base)
            if base is not tensor.base:
                self._move(tensor, replace(tensor, base=base, grad=base.grad))
        return self.moved.get(id(tensor), tensor)

    def _own(self, tensor: Tensor) -> Tensor:
        """What a kind's own entry reads, whose layers may need another gradient than all together do."""
        now = self.now(tensor)
        return now if now.grad == tensor.grad else replace(now, base=now, grad=tensor.grad)

    def _settled(self, item: Item, now: Callable[[Tensor], Tensor]) -> Item:
        if isinstance(item, Scope):
            return replace(item, items=[self._settled(each, now) for each in item.items])
        moved = {each.name: _each(getattr(item, each.name), now) for each in fields(item) if each.name != "output"}
        return replace(item, **moved)


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
