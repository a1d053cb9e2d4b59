"""The names of weights and modules in the computations of a document: paths, shortened while they stay distinct.

A computation names a weight by its module below the part, such as ``c_proj``. If two parts of a document have such a
module, both names get more words of their paths: ``attn.c_proj`` and ``mlp.c_proj``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf

from ..formulas.part_labels import REST
from ..language.errors import DocumentError
from ..language.notation.display_tree import Applied, ModuleCall, TensorName, Tree, mapped, nodes
from ..language.notation.text import text
from ..language.path_names import path_names
from ..ledger.facts import Scope, Weight
from ..output.blocks import Assignment, Block, Computation
from .computation import computation
from .further_inputs import further_inputs
from .ledger_dataflow import entries_of
from .notation import SymbolTable

WEIGHTS = "Wwb"  # the letters of matrices, vectors and biases


@dataclass
class _Named:
    """A weight or a module that computations name."""

    keys: list[tuple[int, str]]  # the computations that name it, by number, each with its short name there
    places: set[object]  # equal for equal things
    paths: list[str]  # in the order of the document

    def names(self, in_class: Callable[[str], str]) -> dict[str, bool]:
        """Return its names from the shortest, each with whether it is the end of a path without words left out."""
        found = [(len(short.split(".")), short, True) for _, short in self.keys if "…" not in short]
        least = min(found)[0] if found else 1
        shared = Counter(map(in_class, self.paths))
        # A module that layers of several kinds have is not named after one of the kinds.
        paths = [path if shared[in_class(path)] == 1 else in_class(path) for path in self.paths]
        for path in paths:
            words = in_class(path).removesuffix(".*").split(".")
            below = [word for place, word in enumerate(words) if word != "*" and words[place + 1 : place + 2] != ["*"]]
            whole = [word for word in path.split(".") if word != "*"]
            found += path_names(whole, below, least)
        names: dict[str, bool] = {}
        for _, name, ends in sorted(found, key=lambda each: each[0]):
            names.setdefault(name, ends)
        return names


class ModuleNames:
    """The weights and modules that the computations of a document name.

    Parameters
    ----------
    in_class : callable
        Returns the path in the class of a path in the ledger, which has a list for each kind of layers.
    rests : collection of str
        The paths of modules of which a computation calls only the rest, since it calls some of their modules itself.

    """

    def __init__(self, in_class: Callable[[str], str], rests: Collection[str] = ()) -> None:
        self.in_class, self.rests = in_class, rests
        self.blocks: list[tuple[Computation, Sequence[tuple[str, Scope]]]] = []

    def add(
        self, lines: Sequence[Assignment], places: Sequence[tuple[str, Scope]], shared: Sequence[Assignment] = ()
    ) -> Computation:
        """Return the block of a computation, and remember the parts that it is for.

        A document need not print the block: its names are then only kept apart from the others.
        """
        inputs = list(further_inputs(places[0][1])) if places else []
        block = Computation(lines, inputs, shared)
        self.blocks.append((block, places))
        return block

    def applied(self, blocks: Iterable[Block]) -> list[Block]:
        """Return the blocks with distinct names for distinct weights and modules. Raises DocumentError."""
        defined = {where: number for number, (_, places) in enumerate(self.blocks) for where, _ in places}
        weights: list[_Named] = []
        calls: list[_Named] = []
        words: set[str] = set()
        for number, (block, places) in enumerate(self.blocks):
            for each in (node for line in block.lines for node in nodes(line.shown)):
                if isinstance(each, ModuleCall):
                    paths = [_joined(where, each.module) for where, _ in places]
                    same: set[object] = {(self.in_class(path), defined.get(path)) for path in paths}
                    calls.append(_Named([(number, each.function)], same, paths))
                elif isinstance(each, Applied):
                    words.add(each.function)
                elif isinstance(each, TensorName) and each.letter in WEIGHTS and each.below:
                    found = [pair for _, scope in places if (pair := stored(scope, each.below))]
                    same = {(self.in_class(weight.path), weight.shape) for _, weight in found}
                    paths = [path for path, _ in found]
                    weights.append(_Named([(number, each.below)], same or {(number, each.below)}, paths))
        table = SymbolTable()
        named: dict[tuple[str, int, str], str] = {}
        modules: dict[str, set[str]] = {}  # the paths of each module that is called, by its name
        for every, taken, kind in ((calls, words, ""), (weights, set(), WEIGHTS)):
            for one, name in self._distinct(every, taken, modules if kind else {}):
                meaning = ", ".join(sorted(map(str, one.places)))
                table.define(f"{kind and 'W_'}{name}", meaning)
                shown = f"{name}.{REST}" if not kind and self.rests and {*one.paths} <= {*self.rests} else name
                named |= {(kind, number, short): shown for number, short in one.keys}
                modules |= {} if kind else {name: {*map(self.in_class, one.paths)}}
        renamed = [partial(_renamed, number=number, names=named) for number in range(len(self.blocks))]
        # The same part in layers of several kinds has its lines split everywhere or nowhere, and so the same letters.
        wide = {
            self.in_class(places[0][0])
            for change, (block, places) in zip(renamed, self.blocks, strict=True)
            if places and not _fits(change(block))
        }
        changed = {
            id(block): _fitting(block, places[0][1], change)
            if places and self.in_class(places[0][0]) in wide
            else change(block)
            for change, (block, places) in zip(renamed, self.blocks, strict=True)
        }
        return [changed.get(id(block), block) for block in blocks]

    def _distinct(
        self, found: Iterable[_Named], taken: set[str], modules: Mapping[str, set[str]]
    ) -> Iterator[tuple[_Named, str]]:
        """Yield each weight or module once, with its distinct name.

        Parameters
        ----------
        found
            The weights or the modules.
        taken
            The names of functions.
        modules
            The paths of the modules whose names a weight can have only if it is stored there.

        """
        groups: list[_Named] = []
        for each in found:
            one, others = _Named([*each.keys], set(each.places), [*each.paths]), []
            for group in groups:
                if group.places & one.places:
                    paths = [*group.paths, *(path for path in one.paths if path not in group.paths)]
                    one = _Named([*group.keys, *one.keys], group.places | one.places, paths)
                else:
                    others.append(group)
            groups = [*others, one]
        every = [group.names(self.in_class) for group in groups]
        ends = Counter(name for names in every for name, end in names.items() if end)
        anywhere = Counter(name for names in every for name in names)
        used = set(taken)
        for group, names in sorted(zip(groups, every, strict=True), key=lambda pair: len(pair[1])):
            # A module at the top has only one name, and others that end alike have longer ones.
            own = {*map(self.in_class, group.paths)}
            free = [name for name in names if name not in used and modules.get(name, own) & own]
            alone = (name for name in free if (ends if names[name] else anywhere)[name] == 1)
            name = next(alone, next((name for name in reversed(free) if names[name]), ""))
            if not name:
                raise DocumentError(f"{next(iter(names))} names several modules, whose paths do not distinguish them")
            used.add(name)
            yield group, name


def has_own_names(shown: Tree) -> bool:
    """Return True if an expression names a module or a weight by its path."""
    return any(
        isinstance(each, ModuleCall) or (isinstance(each, TensorName) and each.letter in WEIGHTS and bool(each.below))
        for each in nodes(shown)
    )


def stored(scope: Scope, name: str) -> tuple[str, Weight] | None:
    """Return the weight that a computation of a part calls by a name, after the path that has the name; or None."""
    every = [weight for entry in entries_of(scope) for weight in (*entry.weights, *entry.shared)]
    found = [(path, weight) for weight in every for path in _paths(weight) if f".{path}".endswith(f".{name}")]
    return min(found, key=lambda pair: (pair[0].count("."), -len(pair[1].shape)), default=None)


def _paths(weight: Weight) -> Iterator[str]:
    """Yield the paths by which a computation can name a weight: of its module, or its own."""
    module, _, last = weight.path.rpartition(".")
    if last in ("weight", "bias"):
        yield module
    else:
        yield from dict.fromkeys((weight.path, weight.path.removesuffix("_weight").removesuffix("_bias")))


def _joined(where: str, module: str) -> str:
    return ".".join(filter(None, (where, module)))


WIDEST = 92  # characters of a line, of which a subscript counts a part, that fit a page


def _fits(block: Computation) -> bool:
    return all(_width(line.shown) <= WIDEST for line in block.lines)


def _fitting(block: Computation, scope: Scope, renamed: Callable[[Computation], Computation]) -> Computation:
    """Return a computation with its names, in which every operation has its own line if that makes lines shorter."""
    made = renamed(block)
    split = renamed(replace(block, lines=tuple(computation(scope, apart=True))))
    return min((made, split), key=lambda each: max((_width(line.shown) for line in each.lines), default=inf))


def _width(shown: Tree) -> float:
    """Return the characters of an expression, with those of small subscripts at three quarters of the width."""
    small = sum(len(each.below) for each in nodes(shown) if isinstance(each, TensorName))
    return len(text(shown)) - small / 4


def _renamed(block: Computation, number: int, names: Mapping[tuple[str, int, str], str]) -> Computation:
    def change(each: Tree) -> Tree:
        if isinstance(each, ModuleCall):
            return replace(each, function=names["", number, each.function])
        if isinstance(each, TensorName) and each.letter in WEIGHTS and each.below:
            return replace(each, below=names[WEIGHTS, number, each.below])
        return each

    return replace(block, lines=tuple(replace(line, shown=mapped(line.shown, change)) for line in block.lines))
