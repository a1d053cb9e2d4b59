"""The rows of a traced model as a tree of scopes, with one scope per module and number of copies.

The layers of one list that differ in their modules are several scopes with the same name: one with what all layers
have, and one for each kind of layer. A trace does not know the order of the kinds, only how many layers each has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sympy import Expr, Symbol, cancel

from ..components.base import Component
from ..language.errors import WitnessError
from ..ledger.facts import ONE, Scope
from ..ledger.operations import Operations


@dataclass(frozen=True)
class Module:
    """The name of a torch module."""

    name: str
    shapes: str = ""

    @property
    def title(self) -> str:
        return self.name

    def forward(self, ops: Operations, *inputs: Any) -> Any:
        raise WitnessError(f"{self.name} is a torch module, so it has no forward pass in symformer")


@lru_cache(maxsize=4096)  # the layers of a model are counted alike in every row
def _times(copies: Expr, before: Expr) -> Expr:
    """Return the number of copies inside each copy of the enclosing part."""
    return cancel(copies / before)


class ScopeTree:
    """A tree of scopes by path and count: a module for each word, and a repeated part for the words up to a star."""

    def __init__(self, part: Component) -> None:
        self.root = Scope("", part)
        self.scopes: dict[tuple[object, ...], Scope] = {(): self.root}

    def scope(self, words: Sequence[str], counts: Sequence[Expr]) -> Scope:
        """Return the scope that contains the last word of a path.

        ``counts`` has the total number of copies up to each star. One further count is the number of times that the
        part runs, with weights that are stored only once.
        """
        if words.count("*") not in (len(counts), len(counts) - 1):
            raise WitnessError(f"{'.'.join(words)} has {len(counts)} numbers of copies, which do not match its stars")
        each = (_times(n, before) for before, n in zip((ONE, *counts), counts, strict=False))
        scope, name = self.root, ""
        key: tuple[object, ...] = ()
        for place, word in enumerate(words):
            name = f"{name}.{word}" if name else word
            if word != "*" and (place == len(words) - 1 or "*" in words[place:]):
                continue
            count = next(each) if word == "*" else ONE
            key = (*key, (name, count))
            if key not in self.scopes:
                self.scopes[key] = Scope(name, Module(name.removesuffix(".*")), count)
                scope.items.append(self.scopes[key])
            scope, name = self.scopes[key], ""
        for again in each:
            key = (*key, (words[-1], again))
            if key not in self.scopes:
                self.scopes[key] = Scope("", Module(words[-1]), again, distinct=ONE)
                scope.items.append(self.scopes[key])
            scope = self.scopes[key]
        return scope

    def finished(self) -> Scope:
        """Return the root, with the layers of several kinds marked as such."""
        for scope in self.scopes.values():
            _mark_kinds(scope)
        return self.root


def _mark_kinds(scope: Scope) -> None:
    """Put what all layers of a list have before the kinds of layers, and name each kind after what only it has."""
    for name in dict.fromkeys(item.name for item in scope.items if isinstance(item, Scope) and item.repeated):
        lists = [item for item in scope.items if isinstance(item, Scope) and item.name == name]
        whole = next((each for each in lists if _has_all([one.count for one in lists], each.count)), None)
        if len(lists) == 1 or whole is None:
            continue
        place = scope.items.index(lists[0])
        scope.items = [item for item in scope.items if item not in lists]
        scope.items[place:place] = lists = [whole, *(each for each in lists if each is not whole)]
        for each in lists:
            each.among = whole.count
        _name_kinds(whole, lists[1:])


def _has_all(counts: Sequence[Expr], total: Expr) -> bool:
    """Return True if a size is the number of all layers of a list: no kind can have more, or the rest is a kind too.

    A number or a sum does not count: it may be the number of the layers of one kind.
    """
    return isinstance(total, Symbol) and all(
        (total - count).is_nonnegative or total - count in counts for count in counts
    )


def _name_kinds(whole: Scope, kinds: Sequence[Scope]) -> None:
    """Name kinds of layers in ids: layers_mlp has the MLP, and layers_experts its experts instead."""
    modules = [{*_modules(kind, ())} for kind in kinds]
    found = []
    for own in modules:
        others = {path for each in modules if each is not own for path in each} | {*_modules(whole, ())}
        found.append(_distinction(own - others))
    for number, (kind, name) in enumerate(zip(kinds, found, strict=True), 1):
        distinct = name if name and found.count(name) == 1 else str(number)
        kind.label = f"{kind.name.removesuffix('.*')}_{distinct}"


def _distinction(own: Set[tuple[str, ...]]) -> str:
    """Return the module that distinguishes a kind: its experts, its only own module, or the module of all of them."""
    if any("experts" in path for path in own):
        return "experts"
    paths = [path for path in own if path[:-1] not in own]
    if len(paths) == 1:
        return paths[0][-1]
    common = [words[0] for words in zip(*paths, strict=False) if len({*words}) == 1]
    return common[-1] if common else ""


def _modules(scope: Scope, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the paths of the modules in a part, relative to it, without indices."""
    for item in scope.items:
        name = item.name if isinstance(item, Scope) else item.path.rpartition(".")[2]
        here = path
        for word in name.split("."):
            if word not in ("*", ""):
                here = (*here, word)
                yield here
        if isinstance(item, Scope):
            yield from _modules(item, here)
