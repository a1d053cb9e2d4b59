"""Evaluation of printed computations with the weights of a reference class.

The lines are evaluated as mathematics, from the model down to every part that they name. Only the display tree, the
names of parts and the sizes come from symformer. Heads are split if a line's shape has four axes, and merged before a
matrix; experts have their own axis. The meaning of each word is passed in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod
from typing import Any

import torch
from sympy import Expr, Symbol
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from symformer.documents.computation import computation, named_parts
from symformer.language.notation.display_tree import (
    Applied,
    FractionNode,
    Indexed,
    Listed,
    Minus,
    Number,
    Pointwise,
    Power,
    Product,
    Root,
    Size,
    Sum,
    TensorName,
    Total,
    Transposed,
    Tree,
    nodes,
    tree,
    value,
)
from symformer.language.notation.text import text
from symformer.ledger.facts import Scope
from symformer.output.blocks import Assignment

from .words import Chosen, Function

EXPERT, LAYER, FACTOR = TensorName("e"), TensorName("n"), "α"
ROUNDING = 1e-6  # tolerance for angles stored in single precision


@dataclass
class Class:
    """A reference module with its sizes, and the meaning of its words and letters."""

    module: nn.Module
    sizes: Mapping[Symbol, int]
    words: Mapping[str, Function]
    # letters that any part may read, such as angles; for one kind of layer or one tower, with its name
    given: Mapping[str, Tensor]
    route: Callable[[Tensor], Chosen] | None = None
    factors: Mapping[str, Sequence[float]] = field(default_factory=dict)  # numbers specific to a part, by its name
    # rows that the class stores in another order
    arranged: Callable[[str, Tensor], Tensor] = lambda name, weight: weight
    path: Callable[[str], str] = lambda path: path  # torch's name of a part
    layers: Mapping[str, Sequence[int]] = field(default_factory=dict)  # torch's names of a kind of layers
    kinds: Sequence[str] = ()  # the names of layers of several kinds in one list
    apart: Sequence[str] = ()  # parts whose torch module computes more
    gave: dict[str, list[Tensor]] = field(default_factory=dict)  # the outputs of each module, by path
    compared: list[str] = field(default_factory=list)  # the parts that were compared

    def watched(self, run: Callable[[], Any]) -> Any:
        """Run the module and record the output of every submodule."""

        def keep(path: str, module: nn.Module, inputs: Any, output: Any) -> None:
            first = output[0] if isinstance(output, tuple) else output
            if isinstance(first, Tensor):
                self.gave.setdefault(path, []).append(first.clone())  # some modules add to it in place

        hooks = [module.register_forward_hook(partial(keep, path)) for path, module in self.module.named_modules()]
        found = run()
        for hook in hooks:
            hook.remove()
        return found

    def compare(self, path: str, ours: Tensor) -> None:
        """Compare a part with the module of its path, if that returns the same tensor."""
        ends = re.compile(rf"(^|\.){re.escape(self.path(path))}$")
        found = [gave for name, gave in self.gave.items() if path and ends.search(name)]
        alike = [each for each in found[0] if each.numel() == ours.numel()] if len(found) == 1 else []
        if not alike or {path, path.rpartition(".")[2]} & {*self.apart}:
            return
        off = min(_difference(ours, theirs) for theirs in alike)
        assert off < ROUNDING, f"{path} returns something else: {off:.1e} of the largest"
        self.compared.append(path)

    def weight(self, path: str, name: TensorName) -> Tensor:
        """Return the weight of a part that a line names."""
        ends = {"W": ("", "weight"), "w": ("", "weight"), "b": ("bias",)}[name.letter]
        ends = ("",) if name.letter == "W" and name.index == EXPERT else ends  # a table of matrices
        inside = re.compile(rf"(^|\.){re.escape(self.path(path))}(\.|$)") if path else re.compile("")
        found: dict[str, Tensor] = {}
        for owner in (inside, re.compile("")):  # a tied head reads a weight that is stored elsewhere
            for each, tensor in self.module.named_parameters(remove_duplicate=False):
                if owner.search(each) and any(called(each, name.below, end, self.path(path)) for end in ends):
                    found[each] = tensor.detach()
            if found:
                break
        least = min((each.count(".") for each in found), default=0)  # of this part, not of a part inside it
        found = {each: tensor for each, tensor in found.items() if each.count(".") == least}
        assert found, f"{path}: {text(name)} is not a weight of {type(self.module).__name__}"
        assert len({tensor.data_ptr() for tensor in found.values()}) == 1, f"{path}: {text(name)} is any of {[*found]}"
        ((each, tensor), *_) = found.items()
        module = self.module.get_submodule(each.rpartition(".")[0])
        tensor = tensor.T if isinstance(module, Conv1D) and tensor.dim() == 2 else tensor
        tensor = self.arranged(each, tensor)
        which = "qkv".find(text(name.index)) if name.index else -1  # rows of a larger matrix
        return tensor if which < 0 else tensor.chunk(3)[which]


def called(parameter: str, below: str, end: str, path: str) -> bool:
    """Return True if a parameter belongs to a letter: the weight or bias of a module, or a standalone weight."""
    if not below:
        return f".{parameter}".endswith(f".{path}.{end}")
    return bool(re.search(rf"(^|\.){re.escape(below)}{'[._]' if end else ''}{end}$", parameter))


def _difference(ours: Tensor, theirs: Tensor) -> float:
    """Return the largest difference, relative to the largest absolute value."""
    if theirs.dim() == 4 and ours.dim() == 3:  # of patches, with the channels last or first
        theirs = theirs.flatten(1, 2) if theirs.shape[-1] == ours.shape[-1] else theirs.flatten(2)
    if theirs.dim() == ours.dim() == 4 and [*theirs.transpose(0, 1).shape] == [*ours.shape] != [*theirs.shape]:
        theirs = theirs.transpose(0, 1)  # residual streams before sequences
    theirs = theirs if theirs.shape == ours.shape or theirs.dim() < 3 else theirs.transpose(1, 2)
    return float((ours - theirs.reshape(ours.shape)).abs().max() / theirs.abs().max())


class Reader:
    """Evaluate the lines of one part, in order."""

    def __init__(self, whose: Class, scope: Scope, path: str, known: Mapping[str, Tensor]) -> None:
        self.whose, self.scope, self.path = whose, scope, path
        self.known = dict(known)
        self.parts = named_parts(scope)
        self.lines = computation(scope)
        self.chosen: Tensor | None = None
        self.factors = iter(whose.factors.get(scope.name, ()))
        inside = (each for line in self.lines for each in nodes(line.shown))
        roots = [self.size(value(each.operand)) for each in inside if isinstance(each, Root)]
        self.head = roots[0] if roots else 0  # scores are divided by the square root of the head width

    def run(self) -> Tensor:
        assert self.lines, f"{self.path}: its computation is unknown"
        for line in self.lines:
            found = self.repeated(line) if line.times is not None else self.of(line.shown)
            self.put(line, found)
        self.whose.compare(self.path, found)
        return found

    # -- lines ---------------------------------------------------------------------------------------------------------

    def repeated(self, line: Assignment) -> Tensor:
        """Run layers, each on the output of the previous one."""
        assert isinstance(line.shown, Applied)
        (before, *_), number = line.shown.arguments, self.size(line.times)
        assert isinstance(before, TensorName)
        found = self.known[f"{before.letter}_0"]
        for layer in range(number):
            self.known[text(before)] = found
            if layer == number - 1:  # some models read the output of the second to last layer
                self.known[text(TensorName(before.letter, index=tree(line.times - 1)))] = found
            found = self.called(line.shown, layer)
        self.known[text(TensorName(before.letter, index=tree(line.times)))] = found
        return found

    def put(self, line: Assignment, found: Tensor) -> None:
        """Store a named result, in the shape of its line."""
        assert isinstance(line.shape, Listed)
        *axes, last = line.shape.items
        sizes = [self.size(value(each)) for each in line.shape.items if not isinstance(each, TensorName)]
        if len(sizes) == 4 and found.dim() == 3 and found.shape[-1] == sizes[1] * sizes[3]:
            found = found.unflatten(2, (sizes[1], sizes[3])).transpose(1, 2)
            if len(found) == 1:  # a learned query is the same for all sequences
                found = found.expand(sizes[0], -1, -1, -1)
        elif len(sizes) == 4 and [*found.shape] == [*sizes[:2], sizes[2] * sizes[3]]:  # rows of each token
            found = found.unflatten(2, (sizes[2], sizes[3]))
        elif len(sizes) == 4 and [*found.shape] == [*sizes[2:], sizes[1]]:  # a table of distances, by head
            found = found.permute(2, 0, 1)[None]
        elif len(sizes) == 3 and [*found.shape] == sizes[1:] and sizes[0] == 1:  # a table that all sequences share
            found = found[None]
        if len(sizes) == 4 and found.dim() == 4 and found.shape[1] * found.shape[3] == sizes[2] * sizes[3] != 0:
            same = [*found.shape] == sizes  # or heads in groups
            found = found if same else found.transpose(1, 2).flatten(2).unflatten(2, (sizes[2], sizes[3]))
        if len(sizes) == 3 and found.dim() == 4 and found.shape[1] * found.shape[3] == sizes[2]:
            found = found.transpose(1, 2).flatten(2)
        if len(sizes) > len(axes):
            assert prod(sizes) == found.numel(), f"{self.path}: {text(line.shown)} is {[*found.shape]} and not {sizes}"
        else:
            assert sizes[-1] == found.shape[-1], f"{self.path}: {text(line.shown)} is {[*found.shape]} and not {sizes}"
        if isinstance(line.name, TensorName):
            self.known[text(line.name)] = found
            return
        assert isinstance(line.name, Listed)
        assert isinstance(last, Sum), f"{self.path}: the widths of the pieces of {text(line.shown)} are unknown"
        widths = [self.size(value(each)) for each in last.terms]
        for name, piece in zip(line.name.items, found.split(widths, -1), strict=True):
            heads = self.head and found.dim() == 3 and name in (TensorName("q"), TensorName("k"), TensorName("v"))
            self.known[text(name)] = piece.unflatten(2, (-1, self.head)).transpose(1, 2) if heads else piece

    def size(self, expr: Expr | None) -> int:
        assert expr is not None
        return int(expr.subs(self.whose.sizes))

    # -- mathematics ---------------------------------------------------------------------------------------------------

    def of(self, shown: Tree) -> Tensor:
        match shown:
            case TensorName():
                return self.name(shown)
            case Size() | Number():
                return torch.tensor(float(self.size(value(shown))), dtype=torch.float64)
            case Sum((first, *others)):
                found = self.of(first)
                for each in others:
                    term = of_heads(self.of(each), found)
                    found = found + (
                        term[:, : found.shape[1]] if each == TensorName("p") else term
                    )  # the number of pieces
                return found
            case Minus(operand):
                return -self.of(operand)
            case Power(operand, exponent):
                return self.of(operand) ** exponent
            case Pointwise(factors):
                left, right = map(self.of, factors)
                left = left[:, None] if (left.dim(), right.dim()) == (3, 4) else left  # one factor per stream
                if left.dim() == 4 and right.dim() == 3 and left.shape[1] * left.shape[3] == right.shape[2]:
                    left = left.transpose(1, 2).flatten(2)  # heads are merged before a gate
                return left * of_heads(right, left)
            case Transposed(operand):
                return self.of(operand).transpose(-1, -2)
            case Root(operand):
                return self.of(operand).sqrt()
            case FractionNode(above, below):
                return self.of(above) / self.of(below)
            case Product(factors):
                first, *others = map(self.of, factors)
                for each in others:
                    first = product(first, each)
                return first
            case Indexed(table, index):
                return self.of(table)[self.of(index).long()]
            case Listed(items, rows):
                return joined([self.of(each) for each in items], rows)
            case Total(over, operand):
                assert over == EXPERT
                return self.of(operand).sum(2)
            case Applied():
                return self.called(shown)
        raise AssertionError(text(shown))

    def name(self, shown: TensorName) -> Tensor:
        """Return a computed value, an input or a weight."""
        if shown == TensorName("g", index=EXPERT):  # scaled, or as the router chose it
            return self.known.get(text(shown), self.known.get("g"))[..., None]
        if text(shown) in self.known:
            return self.known[text(shown)]
        if shown.letter == FACTOR:
            return torch.tensor(next(self.factors), dtype=torch.float64)
        for letter in (f"{self.path.partition('.')[0]}.{text(shown)}", text(shown)):  # sizes of a tower first
            if letter in self.whose.given:
                return self.whose.given[letter]
        found = self.whose.weight(self.path, shown)
        return found if shown.index != EXPERT or self.chosen is None else found[self.chosen]

    def called(self, shown: Applied, layer: int | None = None) -> Tensor:
        """Evaluate a part by name, or a word."""
        name = shown.function
        if layer is not None and name not in self.parts:  # a list of layers of several kinds
            name = ".".join(filter(None, (name.rpartition(".")[0], self.whose.kinds[layer])))
            for each in shown.arguments[1:]:
                if each == TensorName("ξ", index=LAYER):
                    self.known[text(each)] = self.known["ξ"][:, :, layer]  # a part for each layer
                elif isinstance(each, TensorName) and each.index == LAYER:
                    self.known[text(each)] = self.whose.given[f"{each.letter}_{name}"]
        elif layer is not None and TensorName("ξ", index=LAYER) in shown.arguments:
            self.known["ξ_n"] = self.known["ξ"][:, layer]
        if name in self.parts:
            return self.part(self.parts[name], shown.arguments, layer or 0)
        if name == "softmax":
            return self.softmax(shown)
        arguments = [self.of(each) for each in shown.arguments]
        if name == "rotate" and shown.below is None and arguments[0].dim() == 3:
            head = self.head or arguments[1].shape[-1]  # if the scale is a number, the whole head rotates
            if arguments[0].shape[-1] > head:  # all heads of a projection whose result has no line
                arguments[0] = arguments[0].unflatten(2, (-1, head)).transpose(1, 2)
        if name == "route":
            assert self.whose.route is not None
            weights, self.chosen = self.whose.route(*arguments)
            return weights
        name += f"_{text(shown.below)}" if shown.below else ""
        own = f"{self.path}.{name}"
        assert name in self.whose.words, f"{self.path}: {name} has no meaning"
        return self.whose.words[own if own in self.whose.words else name](*arguments)

    def part(self, scope: Scope, arguments: Sequence[Tree], layer: int) -> Tensor:
        if scope.parallel and scope.repeated:
            return torch.stack([self.copy(scope, arguments, number) for number in range(self.size(scope.count))], 1)
        return self.copy(scope, arguments, layer)

    def copy(self, scope: Scope, arguments: Sequence[Tree], layer: int) -> Tensor:
        """Run one of several equal parts; of several parts side by side, each may have its own residual stream."""
        name = scope.name
        if scope.repeated:
            numbers = self.whose.layers.get(name.removesuffix(".*"))
            name = name.replace("*", str(numbers[layer] if numbers else layer))
        path = ".".join(filter(None, (self.path, name)))
        read = [(each.letter if isinstance(each, TensorName) else "", self.of(each)) for each in arguments]
        if scope.parallel:
            read = [(letter, x[:, layer] if x.dim() == 4 else x) for letter, x in read]
        shape = computation(scope)[-1].shape if computation(scope) else None
        if isinstance(shape, Listed) and len(shape.items) in (2, 4) and len(read) == 1:
            wide = self.size(value(shape.items[-1]))  # of a norm over one head
            whole = read[0][1]
            if name.endswith("norm") and whole.dim() == 3 and whole.shape[-1] > wide:
                read = [("", whole.unflatten(-1, (-1, wide)).transpose(1, 2))]
        return Reader(self.whose, scope, path, bound(scope, read, self.whose.given)).run()

    def softmax(self, shown: Applied) -> Tensor:
        """Return the weights of the keys: all, those up to the query, a window of these, or also those of its block."""
        (inside,) = shown.arguments
        sinks = inside.items[1:] if isinstance(inside, Listed) else ()
        scores = self.of(inside.items[0] if isinstance(inside, Listed) else inside)
        below = text(shown.below) if shown.below else ""
        back = torch.arange(scores.shape[-2])[:, None] - torch.arange(scores.shape[-1])[None]
        causal = below.startswith(("causal", "blocks"))
        unseen = (back < 0) & causal
        if below.startswith("blocks"):  # also the later tokens of its block
            unseen = unseen & ~self.whose.given["blocks"]
        if isinstance(shown.below, Applied):
            window = self.size(value(shown.below.arguments[0]))
            unseen = unseen | (back >= window if causal else back.abs() > window)
            if below.startswith("chunk"):
                places = torch.arange(scores.shape[-1])
                unseen = (places[:, None] // window != places // window) | (back < 0)
            if groups := shown.below.arguments[1:]:  # further keys, one for each group of tokens
                length = scores.shape[-2]
                complete = (torch.arange(length)[:, None] + 1) // self.size(value(groups[0]))
                later = torch.arange(scores.shape[-1] - length) >= complete
                unseen = torch.cat((unseen[:, :length], later), -1)
        scores = scores.masked_fill(unseen, float("-inf"))
        for each in sinks:
            sink = self.of(each)[None, :, None, None].expand(*scores.shape[:3], 1)
            scores = torch.cat((scores, sink), -1)
        return scores.softmax(-1)[..., : back.shape[-1]]


def bound(scope: Scope, read: Sequence[tuple[str, Tensor]], given: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the inputs of a part by the names in its own lines: by equal letters first, then in order."""
    wanted = list(dict.fromkeys(free(computation(scope))))
    found: dict[str, Tensor] = {}
    rest = []
    for letter, tensor in read:
        name = next((each for each in wanted if each not in found and each[0] == letter != "x"), "")
        if name:
            found[name] = tensor
        elif letter != "θ":  # a layer without rotary positions, in a list of layers of several kinds
            rest.append(tensor)
    others = [each for each in wanted if each not in found]
    rest = rest[: len(others)] if scope.mixture else rest  # a kind of layer that does not read all further inputs
    if len(others) != len(rest):
        others = [each for each in others if (each == "x" or each not in given) and not each.endswith("_n")]
    assert len(others) == len(rest), f"{scope.name} is given {len(rest)} more and reads {others}"
    return found | dict(zip(others, rest, strict=True))


def free(lines: Sequence[Assignment]) -> Iterator[str]:
    """Yield the names that are read before they are defined, without the names of weights."""
    known: set[str] = set()
    for line in lines:
        if line.times is not None and isinstance(line.name, TensorName):
            indices = (tree(line.times), LAYER_BEFORE, tree(line.times - 1))
            known |= {text(replace(line.name, index=each)) for each in indices}
        for each in nodes(line.shown):
            if (
                isinstance(each, TensorName)
                and not each.below
                and each.letter not in "Wwbαen"
                and not {text(each), own_part(each), "g" if each.index == EXPERT else text(each)} & known
            ):
                yield own_part(each)
        known |= {text(each) for each in nodes(line.name) if isinstance(each, TensorName)}


def own_part(name: TensorName) -> str:
    """Return the name of a tensor of which each layer reads its own part, given the name of the part."""
    return name.letter if name == TensorName("ξ", index=LAYER) else text(name)


LAYER_BEFORE = Sum((LAYER, Minus(Number(1))))


def of_heads(stored: Tensor, x: Tensor) -> Tensor:
    """Broadcast a row of weights per head, or a table of distances, to a tensor with heads."""
    if x.dim() == 4 and stored.dim() == 5:  # a number for each query and each row or column of keys
        return stored.expand(*stored.shape[:3], *(max(stored.shape[3:]),) * 2).flatten(3)
    if x.dim() == 4 and stored.dim() == 3 and stored.shape[:2] == x.shape[2:]:
        return stored.permute(2, 0, 1)[None]
    return stored[:, None] if x.dim() == 4 and stored.dim() == 2 else stored


def joined(pieces: Sequence[Tensor], rows: bool) -> Tensor:
    """Concatenate tensors side by side or one below the other, broadcasting those that all heads share."""
    *before, other = pieces
    first = before[0] if len(before) == 1 else joined(before, rows)
    if rows and first.dim() == other.dim() == 4:  # keys
        return torch.cat((first, other), -2)
    if rows:
        first = first.reshape(len(first) if first.dim() == 3 else 1, -1, other.shape[-1])
        return torch.cat((first.expand(len(other), -1, -1), other), -2)
    most = max(first.dim(), other.dim())
    first, other = (each[:, None] if each.dim() < most else each for each in (first, other))
    shape = torch.broadcast_shapes(first.shape[:-1], other.shape[:-1])
    return torch.cat((first.expand(*shape, -1), other.expand(*shape, -1)), -1)


def product(left: Tensor, right: Tensor) -> Tensor:
    if left.dim() == 0:
        return left * right
    if right.dim() == 5:  # a matrix for each expert that a token is routed to
        left = left[:, :, None] if left.dim() == 3 else left
        return (left[..., None, :] @ right)[..., 0, :]
    if left.dim() == 4 and left.shape[-1] == 1 and left.shape[:2] == right.shape[:2]:  # the weight of each expert
        return left * (right[:, :, None] if right.dim() == 3 else right)
    if left.dim() == 4 and right.dim() == 2:  # heads are merged before a matrix
        left = left.transpose(1, 2).flatten(2)
    elif left.dim() == 4 and right.dim() == 3:  # all heads of values whose result has no line
        right = right.unflatten(2, (left.shape[1], -1)).transpose(1, 2)
    elif left.dim() == 4 and left.shape[1] != right.shape[1]:  # several queries share a key
        right = right.repeat_interleave(left.shape[1] // right.shape[1], 1)
    return left @ right
