"""A model read off torch: what a trace found, as a ledger of the same kind as a composed model's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from sympy import Add, Expr, Mul, cancel, expand, floor

from ..components.base import Component
from ..language.errors import RuleError, WitnessError
from ..language.sizes import Condition, some_of_each
from ..ledger.facts import ONE, STATE, Entry, Kind, Ledger, Scope, Tensor, Weight
from ..ledger.operations import Operations
from ..quantities import quantity as find_quantity
from ..quantities.quantity import Quantity

Class = tuple[str, tuple[Expr, ...]]  # a path with * for every index, and a shape

STORED = "params"  # what a model stores is known without a run
DIFFUSERS = "diffusers"  # the library of which only that is known
# The quantities that torch is asked for, and the conventions that do not change what it says.
MEASURED: Mapping[str, tuple[str, ...]] = {
    "params": (),
    "flops": (),
    "train-flops": (),
    "activations": (),
    "kv-cache": ("dtype",),
}
# These in the order in which one asks least: a run for training tells what is kept, and what a forward pass multiplies.
TOGETHER = ("params", "train-flops", "activations", "flops", "kv-cache")


@dataclass(frozen=True, kw_only=True)
class Traced(Component):
    """A model read off its code: stored weights by module path, each shape and each number of layers in symbols."""

    title: str = ""  # type: ignore[misc]
    stem: str = ""
    counts: Mapping[Class, tuple[Expr, ...]] = field(default_factory=dict, hash=False)
    conditions: tuple[Condition, ...] = ()
    quantity: str = STORED  # what its rows answer
    states: frozenset[str] = frozenset()  # the paths of rows that are a cache's and neither keys nor values
    maker: str = ""  # the library that its code comes from
    measure: Callable[[str], Component] | None = field(default=None, compare=False)  # what torch says of a quantity
    lifted: Callable[[], Component] | None = field(default=None, compare=False)  # its operations, where recognised
    role = "model"
    shapes = "tokens[B,S] -> nothing[B,S]"

    @property
    def name(self) -> str:
        return self.stem

    @cached_property
    def constraints(self) -> tuple[Condition, ...]:  # type: ignore[override]
        dims = {dim for _, shape in self.counts for dim in shape if dim.has(floor)}
        return tuple(dict.fromkeys((*self.conditions, *some_of_each(dims))))

    @property
    def library(self) -> str:
        return self.maker

    @property
    def about(self) -> str:
        return f"{self.title}: its formula is found from builds of its own code."

    @property
    def total(self) -> Expr:
        """What all its rows come to, multiplied out: each as often as there are copies of it."""
        return Add(*(expand(Mul(*shape, *often[-1:])) for (_, shape), often in self.counts.items()))

    def __copy__(self) -> Traced:
        return self

    def __deepcopy__(self, memo: object) -> Traced:
        return self

    def __getstate__(self) -> dict[str, Any]:
        """What another process is sent. Raises WitnessError for a model whose code is run here when it is asked."""
        if self.measure is not None or self.lifted is not None:
            raise WitnessError(
                f"{self.stem} is traced: it runs its code in this process and cannot be pickled; trace it again there, "
                "or send what code() gives of a formula"
            )
        return vars(self)

    def forward(self, ops: Operations, *inputs: Any) -> Any:
        raise WitnessError(f"{self.stem} is a trace of stored weights; its forward is torch's")

    def answering(self, question: Quantity, given: Mapping[str, str]) -> Component:
        """What torch does is read off a run of its own, under the conventions that it runs under and no others."""
        name = question.seen
        if self.maker == DIFFUSERS and name != STORED:
            raise RuleError(f"only the parameters of diffusers models are known, and not {name} of {self.stem}")
        if name not in MEASURED and self.lifted is not None:
            return self.lifted().answering(question, given)
        answerable(name)
        for convention, value in question.choose(given).items():
            ran = question.choices[convention].default
            if value != ran and convention not in MEASURED[name]:
                if self.lifted is not None:
                    return self.lifted().answering(question, given)
                raise RuleError(
                    f"{convention}={value}: the {question.measure.title} of {self.stem} are read off what torch runs, "
                    f"which is {convention}={ran}"
                )
        if name == self.quantity:
            return self
        if self.measure is None:
            raise unrun(self.stem, name)
        return self.measure(name)

    @cached_property
    def ledger(self) -> Ledger:
        """Its rows as a tree of modules: the weights of a module together, each operation that ran by itself."""
        tree = Tree(self)
        if self.quantity != STORED:
            for (path, shape), counts in self.counts.items():
                output = Tensor(path, tuple(dim for dim in shape if dim != 1), grad=ONE)
                what = STATE if path in self.states else ""
                seen = Entry(Kind.OBSERVED, path, (), output, function=what, measured=self.quantity)
                tree.scope(path.split("."), counts).items.append(seen)
            return Ledger(tree.root, None)
        modules: dict[tuple[str, tuple[Expr, ...]], list[Weight]] = defaultdict(list)
        for (path, shape), counts in self.counts.items():
            # A list of bare parameters is repeated itself: its star stands last, and no module is between.
            owner = path if path.endswith("*") else path.rpartition(".")[0]
            modules[owner, counts].append(Weight(path, shape))
        owners = {module for module, _ in modules}
        for (module, counts), weights in modules.items():
            words = module.split(".")
            if any(other.startswith(f"{module}.") for other in owners):
                words.append("")  # it holds modules, and its own weights stand among them
            nowhere = Tensor(module or "weights", ())
            held = tuple(weights)
            entry = Entry(Kind.OBSERVED, nowhere.name, (), nowhere, weights=held, measured=self.quantity, module=True)
            tree.scope(words, counts).items.append(entry)
        return Ledger(tree.root, None)


def answerable(quantity: str) -> None:
    """Raise UnknownNameError or RuleError for a quantity that no trace gives."""
    find_quantity(quantity)
    if quantity not in MEASURED:
        raise RuleError(f"no run of torch gives {quantity}; a trace knows {', '.join(MEASURED)}")


def unrun(stem: str, quantity: str) -> RuleError:
    """Why a trace of what is stored does not answer a quantity of a run."""
    return RuleError(
        f"{stem}: {quantity} is read off a run, and only params without one; say with inputs what the model is called "
        "with"
    )


@lru_cache(maxsize=4096)  # the layers of a model are counted alike in every row
def _times(copies: Expr, before: Expr) -> Expr:
    """How many copies there are in each of those that are counted before."""
    return cancel(copies / before)


class Tree:
    """Scopes by path and count: a module for each word, and a repeated part for the words up to a star."""

    def __init__(self, part: Component) -> None:
        self.root = Scope("", part)
        self.scopes: dict[tuple[object, ...], Scope] = {(): self.root}

    def scope(self, words: Sequence[str], counts: Sequence[Expr]) -> Scope:
        """Where the last word of a path stands; ``counts`` are the copies of all up to each star.

        One more than there are stars says how often it runs, with weights that are stored once each time around.
        """
        if words.count("*") not in (len(counts), len(counts) - 1):
            raise WitnessError(f"{'.'.join(words)} has {len(counts)} numbers of copies")
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
