"""A model read off torch: what a trace found, as a ledger of the same kind as a composed model's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sympy import Expr, cancel

from ..components.base import Component
from ..errors import WitnessError
from ..ledger import ONE, Entry, Kind, Ledger, Operations, Scope, Tensor, Weight
from ..sizes import Condition

Class = tuple[str, tuple[Expr, ...]]  # a path with * for every index, and a shape


@dataclass(frozen=True, kw_only=True)
class Traced(Component):
    """A model read off its code: stored weights by module path, each shape and each number of layers in symbols."""

    title: str = ""  # type: ignore[misc]
    stem: str = ""
    counts: Mapping[Class, tuple[Expr, ...]] = field(default_factory=dict, hash=False)
    conditions: tuple[Condition, ...] = ()
    role = "model"
    shapes = "tokens[B,S] -> nothing[B,S]"

    @property
    def name(self) -> str:
        return self.stem

    @property
    def constraints(self) -> tuple[Condition, ...]:  # type: ignore[override]
        return self.conditions

    def forward(self, ops: Operations, *inputs: Any) -> Any:
        raise WitnessError(f"{self.stem} is a trace of stored weights; its forward is torch's")

    @cached_property
    def ledger(self) -> Ledger:
        """The stored weights as a tree of modules."""
        root = Scope("", self)
        places: dict[tuple[object, ...], Scope] = {(): root}
        modules: dict[tuple[object, ...], list[Weight]] = defaultdict(list)
        entries: dict[tuple[object, ...], tuple[Scope, int, Tensor]] = {}
        for (path, shape), counts in self.counts.items():
            *words, _ = path.split(".")
            key: tuple[object, ...] = ()
            each = [cancel(n / before) for before, n in zip((ONE, *counts), counts, strict=False)]
            stars = iter(each)
            scope, at = root, 0
            while at < len(words):
                start = at
                while at < len(words) and words[at] != "*":
                    at += 1
                if at < len(words):  # a repeated part takes the words before it into its name
                    name = ".".join([*words[start : at + 1]])
                    key = (*key, (name, count := next(stars)))
                    if key not in places:
                        places[key] = Scope(name, Module(_plain(name)), count)
                        scope.items.append(places[key])
                    scope, at = places[key], at + 1
                else:
                    for word in words[start : at - 1]:
                        key = (*key, word)
                        if key not in places:
                            places[key] = Scope(word, Module(word))
                            scope.items.append(places[key])
                        scope = places[key]
                    key = (*key, (".", words[at - 1]))
            if key not in modules:
                nowhere = Tensor(".".join(words) or "weights", ())
                entries[key] = (scope, len(scope.items), nowhere)
                scope.items.append(Entry(Kind.STORED, nowhere.name, (), nowhere))
            modules[key].append(Weight(path, shape))
        for key, (scope, at, nowhere) in entries.items():
            weights = tuple(modules[key])
            scope.items[at] = Entry(Kind.STORED, nowhere.name, (), nowhere, weights=weights, module=True)
        return Ledger(root, None)


@dataclass(frozen=True)
class Module:
    """A torch module, by name."""

    name: str
    shapes: str = ""

    @property
    def title(self) -> str:
        return self.name

    def forward(self, ops: Operations, *inputs: Any) -> Any:
        raise WitnessError(f"{self.name} is torch's own")


def _plain(name: str) -> str:
    return name.removesuffix(".*") or "layer"
