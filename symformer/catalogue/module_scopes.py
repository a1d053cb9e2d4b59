"""The rows of a traced model as a tree of scopes, with one scope per module and number of copies.

The layers of one list that differ in their modules are several scopes with the same name: one with what all layers
have, and one for each kind of layer. A trace does not know the order of the kinds, only how many layers each has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sympy import Add, Expr, Symbol, cancel

from ..components.base import Component
from ..language.errors import WitnessError
from ..language.frozen import FrozenDict
from ..language.sizes import Relations
from ..language.symbols import SYMBOLS
from ..ledger.facts import ONE, Scope
from ..ledger.operations import Operations

# The letters for the numbers of layers of the kinds of a list, by what all layers of the list are counted as.
_DENSE = {"L": "L_dense", "L_enc": "L_enc_d", "L_dec": "L_dec_d"}
_SPARSE = {"L": "L_moe", "L_enc": "L_enc_x", "L_dec": "L_dec_x"}
_MIXERS: Mapping[str, str] = {
    **dict.fromkeys(("linear_attn", "linear_attention"), "L_lin"),
    **dict.fromkeys(("self_attn", "self_attention", "attn", "attention"), "L_attn"),
    **dict.fromkeys(("mamba", "mamba_mixer"), "L_ssm"),
    **dict.fromkeys(("conv", "short_conv"), "L_conv"),
}
_NETWORKS = ("mlp", "ffn", "feed_forward")
_EXPERTS = "experts"


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
        _count_kinds([scope for scope in self.scopes.values() if scope.label])
        return self.root


def kind_sizes(root: Scope) -> Relations:
    """Return the number of layers of each kind that has a letter, in terms of the sizes of the config."""
    return FrozenDict(
        {
            scope.count: scope.counted
            for scope in root.walk()
            if scope.counted is not None and isinstance(scope.count, Symbol)
        }
    )


def _count_kinds(kinds: Sequence[Scope]) -> None:
    """Count the layers of each kind by a letter instead of a share of all layers: L_lin instead of 3*L/4.

    A count that is a letter or a number stays, and so does one whose letter the model uses for another size.
    """
    wanted: dict[str, list[Scope]] = {}
    for kind in kinds:
        if kind.count.free_symbols and not isinstance(kind.count, Symbol):
            siblings = [other for other in kinds if other.among == kind.among and other.name == kind.name]
            wanted.setdefault(_letter(kind, siblings) if _are_all(kind, siblings) else "", []).append(kind)
    taken = {size.name for kind in kinds for scope in kind.walk() for size in _sizes(scope)}
    for letter, found in wanted.items():
        if letter and letter not in taken and len({each.count for each in found}) == 1:
            for kind in found:
                kind.counted, kind.count = kind.count, SYMBOLS[letter]


def _are_all(kind: Scope, siblings: Sequence[Scope]) -> bool:
    """Return whether a kind and those that have the same role, a mixer or a network, are all layers of their list.

    Otherwise one of them stands for several kinds, such as attention with and without a window.
    """
    networks = (_EXPERTS, *_NETWORKS)
    alike = [each.count for each in siblings if (_kind_name(each) in networks) == (_kind_name(kind) in networks)]
    return kind.among is not None and bool(Add(*alike) == kind.among)


def _letter(kind: Scope, siblings: Sequence[Scope]) -> str:
    """Return the letter for the number of layers of a kind next to the other kinds of its list, or ""."""
    names = {_kind_name(each) for each in siblings}
    own, among = _kind_name(kind), str(kind.among)
    if own == _EXPERTS:
        return _SPARSE.get(among, "")
    if own in _NETWORKS and _EXPERTS in names:
        return _DENSE.get(among, "")
    mixers = {_MIXERS.get(each, "") for each in names}
    return _MIXERS.get(own, "") if among == "L" and all(mixers) and len(mixers) == len(names) else ""


def _kind_name(kind: Scope) -> str:
    return kind.label.removeprefix(f"{kind.name.removesuffix('.*')}_")


def _sizes(scope: Scope) -> Iterator[Symbol]:
    """Yield the sizes in the count, the number of all layers and the weights of a part."""
    yield from scope.count.free_symbols
    if scope.among is not None:
        yield from scope.among.free_symbols
    for item in scope.items:
        if not isinstance(item, Scope):
            for weight in item.weights:
                for dim in weight.shape:
                    yield from dim.free_symbols


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
