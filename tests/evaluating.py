"""What the parts of a model are said to compute, evaluated with the weights of a class that somebody else wrote.

The lines are read as mathematics, from a model's own down to those of every part that they name: no more of symformer
is used than the display tree, the parts' names, and the sizes. Heads are split where a line says that its shape has
four axes, and joined before a matrix; experts have an axis of their own. What a line leaves to its class, such as how a
router weighs, is handed in as a word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from math import prod

import torch
from sympy import Expr, Symbol
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from symformer.documents.blocks import Assignment
from symformer.documents.computing import computed, named_parts
from symformer.language.notation.text import text
from symformer.language.notation.tree import (
    Applied,
    Fraction,
    Indexed,
    Listed,
    Minus,
    Name,
    Number,
    Pointwise,
    Power,
    Product,
    Root,
    Size,
    Sum,
    Total,
    Transposed,
    Tree,
    Word,
    value,
)
from symformer.ledger.facts import Scope

Function = Callable[..., Tensor]
EXPERT = Name("e")


@dataclass(frozen=True)
class Class:
    """Somebody else's module, the sizes it has, and what its words and letters mean there."""

    module: nn.Module
    sizes: Mapping[Symbol, int]
    functions: Mapping[str, Function]
    given: Mapping[str, Tensor]  # letters that any part may read, such as angles
    route: Callable[[Tensor, nn.Module], tuple[Tensor, Tensor]] | None = None  # weights, and which experts these are of
    factor: Callable[[str, int], float] = lambda path, place: 1.0  # of a part, the first, second, ... of its numbers
    arranged: Callable[[str, Tensor], Tensor] = lambda name, weight: weight  # rows, where a class stores them otherwise
    path: Callable[[str], str] = lambda path: path  # of a part, what torch calls it
    layers: Mapping[str, Sequence[int]] = field(default_factory=dict)  # of a kind of layer, which these are in torch
    kinds: Sequence[str] = ()  # of layers of several kinds in one list, what each is called

    def weight(self, path: str, name: Name) -> Tensor:
        """A weight of a part, by what a line calls it."""
        ends = {"W": ("", "weight"), "w": ("", "weight"), "b": ("bias",)}[name.letter]
        ends = ("",) if name.letter == "W" and name.index == EXPERT else ends
        inside = re.compile(rf"(^|\.){re.escape(self.path(path))}(\.|$)") if path else re.compile("")
        for owner in (inside, re.compile("")):  # a tied head reads what stands elsewhere
            found = {
                each: tensor
                for each, tensor in self.module.named_parameters(remove_duplicate=False)
                if owner.search(each)
                for end in ends
                if re.search(rf"(^|\.){re.escape(name.below)}{'[._]' if end and name.below else ''}{end}$", each)
            }
            if not name.below:
                found = {each: tensor for each, tensor in found.items() if f".{each}".endswith(f".{self.path(path)}.{ends[-1]}")}
            if found:
                break
        least = min((each.count(".") for each in found), default=0)  # of this part, and not of one in it
        found = {each: tensor for each, tensor in found.items() if each.count(".") == least}
        assert found, f"{path}: {text(name)} is no weight of {type(self.module).__name__}"
        shapes = {id(tensor): tensor for tensor in found.values()}
        assert len(shapes) == 1, f"{path}: {text(name)} is any of {', '.join(found)}"
        ((each, tensor), *_) = found.items()
        owner_of = self.module.get_submodule(each.rpartition(".")[0])
        tensor = tensor.T if isinstance(owner_of, Conv1D) and tensor.dim() == 2 else tensor
        tensor = self.arranged(each, tensor.detach())
        which = "qkv".find(text(name.index)) if name.index else -1
        return tensor if which < 0 else tensor.chunk(3)[which]


class Reader:
    """The lines of one part, evaluated from the top."""

    def __init__(self, whose: Class, scope: Scope, path: str, known: Mapping[str, Tensor]) -> None:
        self.whose, self.scope, self.path = whose, scope, path
        self.known = dict(known)
        self.parts = named_parts(scope)
        self.chosen: Tensor | None = None
        self.factors = 0  # how many numbers of the model's own were read

    def run(self) -> Tensor:
        lines = computed(self.scope)
        roots = [self.size(value(root)) for line in lines for root in roots_of(line.shown)]
        self.head = roots[0] if roots else None  # a head's width, by which scores are divided
        assert lines, f"{self.path}: nothing is said of what it computes"
        for line in lines:
            found = self.repeated(line) if line.times is not None else self.of(line.shown)
            self.put(line, found)
        return found

    # -- lines ---------------------------------------------------------------------------------------------------------

    def repeated(self, line: Assignment) -> Tensor:
        """Layers, each on what the one before it gave."""
        assert isinstance(line.shown, Applied)
        (before, *others), number = line.shown.arguments, self.size(line.times)
        assert isinstance(before, Name)
        found = self.known[f"{before.letter}_0"]
        for layer in range(number):
            self.known[text(before)] = found
            found = self.called(line.shown, layer)
        self.known[f"{before.letter}_{text(line.times)}"] = found
        return found

    def put(self, line: Assignment, found: Tensor) -> None:
        shape = line.shape.items if isinstance(line.shape, Listed) else ()
        last = shape[-1] if shape else Number(1)
        sizes = [self.size(value(each)) for each in shape if not isinstance(each, Name)]
        if len(sizes) == 4 and found.dim() == 3 and sizes[1] * sizes[3] == found.shape[-1]:
            found = found.unflatten(2, (sizes[1], sizes[3])).transpose(1, 2)
        if len(sizes) == 3 and found.dim() == 4 and found.shape[1] * found.shape[3] == sizes[2]:
            found = found.transpose(1, 2).flatten(2)
        if len(sizes) == len(shape):
            assert prod(sizes) == found.numel() or sizes[0] == 1, f"{self.path}: {text(line.shown)} is {[*found.shape]}"
        assert sizes[-1] in found.shape[1:] or found.dim() == 1, f"{self.path}: {text(line.shown)} is {[*found.shape]}"
        if isinstance(line.name, Name):
            self.known[text(line.name)] = found
            return
        assert isinstance(line.name, Listed)
        assert isinstance(last, Sum), f"{self.path}: nothing says how wide the pieces of {text(line.shown)} are"
        widths = [self.size(value(each)) for each in last.terms]
        for name, piece in zip(line.name.items, found.split(widths, -1), strict=True):
            heads = self.head is not None and found.dim() == 3 and isinstance(name, Name) and name in (Name("q"), Name("k"), Name("v"))
            self.known[text(name)] = piece.unflatten(2, (-1, self.head or 1)).transpose(1, 2) if heads else piece

    def size(self, expr: Expr | None) -> int:
        assert expr is not None
        return int(expr.subs(self.whose.sizes))

    # -- mathematics ---------------------------------------------------------------------------------------------------

    def of(self, shown: Tree) -> Tensor:
        match shown:
            case Name():
                return self.name(shown)
            case Word():
                return self.whose.weight(self.path, Name("W", shown.word))
            case Size() | Number():
                return torch.tensor(float(self.size(value(shown))), dtype=torch.float64)
            case Sum(terms):
                return sum((self.of(each) for each in terms[1:]), self.of(terms[0]))
            case Minus(operand):
                return -self.of(operand)
            case Power(operand, exponent):
                return self.of(operand) ** exponent
            case Pointwise(factors):
                left, right = map(self.of, factors)
                return left * right
            case Transposed(operand):
                return self.of(operand).transpose(-1, -2)
            case Root(operand):
                return self.of(operand).sqrt()
            case Fraction(above, below):
                return self.of(above) / self.of(below)
            case Product(factors):
                first, *others = map(self.of, factors)
                for each in others:
                    first = product(first, each)
                return first
            case Indexed(table, index):
                return self.of(table)[self.of(index).long()]
            case Listed(items):
                return joined([self.of(each) for each in items])
            case Total(over, operand):
                assert over == EXPERT
                return self.of(operand).sum(2)
            case Applied():
                return self.called(shown)
        raise AssertionError(text(shown))

    def name(self, shown: Name) -> Tensor:
        """What has been computed, or was given, or is a weight."""
        if text(shown) in self.known:
            return self.known[text(shown)]
        if text(shown) == "α":
            self.factors += 1
            return torch.tensor(self.whose.factor(self.path, self.factors - 1), dtype=torch.float64)
        if shown.letter == "w" and shown.index == EXPERT:
            return self.known["w"][..., None]
        if shown.letter in self.whose.given and not shown.below:
            return self.whose.given[text(shown)]
        found = self.whose.weight(self.path, shown)
        if shown.index == EXPERT:
            assert self.chosen is not None
            return found[self.chosen] if shown.letter == "W" else found[self.chosen]
        return found

    def called(self, shown: Applied, layer: int | None = None) -> Tensor:
        """A part by its name, or a word."""
        name = shown.function
        if name not in self.parts and layer is not None and self.whose.kinds[layer] in self.parts:
            name = self.whose.kinds[layer]
            self.known |= {text(each): self.whose.given[f"{each.letter}_{name}"] for each in shown.arguments[1:]
                if isinstance(each, Name) and each.index == Name("n")}
        if name in self.parts:
            scope = self.parts[name]
            arguments = [(base(each), self.of(each)) for each in shown.arguments]
            arguments = self.in_heads(scope, arguments)
            name = scope.name
            if scope.repeated:
                numbers = self.whose.layers.get(name.removesuffix(".*"), range(10**6))
                name = name.replace("*", str(numbers[layer or 0]))
            path = ".".join(filter(None, (self.path, name)))
            return Reader(self.whose, scope, path, bound(scope, arguments, self.whose.given)).run()
        if shown.function == "softmax":
            return self.softmax(shown)
        arguments = [self.of(each) for each in shown.arguments]
        if shown.function == "route":
            assert self.whose.route is not None
            weights, self.chosen = self.whose.route(arguments[0], self.whose.module.get_submodule(self.module()))
            assert weights.shape[-1] == self.size(value(shown.below)) if shown.below else False
            return weights
        function = shown.function + (f"_{text(shown.below)}" if shown.below else "")
        assert function in self.whose.functions, f"{self.path}: nothing says what {function} is"
        return self.whose.functions[function](*arguments)

    def in_heads(self, scope: Scope, arguments: list[tuple[str, Tensor]]) -> list[tuple[str, Tensor]]:
        """What a norm reads that is as wide as a head."""
        lines = computed(scope)
        shape = lines[-1].shape if lines else None
        wide = self.size(value(shape.items[-1])) if isinstance(shape, Listed) and isinstance(shape.items[0], Name) else 0
        whole = arguments[0][1]
        if len(arguments) > 1 or "_norm" not in scope.name or not wide or whole.shape[-1] == wide:
            return arguments
        return [(arguments[0][0], whole.unflatten(-1, (-1, wide)).transpose(1, 2))]

    def module(self) -> str:
        """What torch calls this part."""
        ends = re.compile(rf"(^|\.){re.escape(self.whose.path(self.path))}$")
        return next(name for name, _ in self.whose.module.named_modules() if ends.search(name))

    def softmax(self, shown: Applied) -> Tensor:
        """Over the keys that a query sees: as its index says all, those before it, or a window of these."""
        (inside,) = shown.arguments
        sinks = inside.items[1:] if isinstance(inside, Listed) else ()
        scores = self.of(inside.items[0] if isinstance(inside, Listed) else inside)
        below = text(shown.below) if shown.below else ""
        back = torch.arange(scores.shape[-2])[:, None] - torch.arange(scores.shape[-1])[None]
        if "causal" in below:
            scores = scores.masked_fill(back < 0, float("-inf"))
        if isinstance(shown.below, Applied):
            window = self.size(value(shown.below.arguments[0]))
            scores = scores.masked_fill(back >= window if "causal" in below else back.abs() > window, float("-inf"))
        for each in sinks:
            sink = self.of(each)[None, :, None, None].expand(*scores.shape[:3], 1)
            scores = torch.cat((scores, sink), -1)
        return scores.softmax(-1)[..., : back.shape[-1]]


def bound(scope: Scope, arguments: Sequence[tuple[str, Tensor]], given: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """What a part reads, by the names that its own lines have for it: first by the same letter, then in order."""
    wanted = list(dict.fromkeys(free(computed(scope))))
    found: dict[str, Tensor] = {}
    rest = []
    for letter, tensor in arguments:
        name = next((each for each in wanted if each not in found and each[0] == letter and letter != "x"), None)
        if name:
            found[name] = tensor
        else:
            rest.append(tensor)
    others = [each for each in wanted if each not in found]
    others = others if len(others) == len(rest) else [each for each in others if each not in given]
    assert len(others) == len(rest), f"{scope.name} is given {len(rest)} and reads {others}"
    return found | dict(zip(others, rest, strict=True))


def base(shown: Tree) -> str:
    return shown.letter if isinstance(shown, Name) else ""


def free(lines: Sequence[Assignment]) -> Iterator[str]:
    """The names that are read and not given by any line before; those of weights left out."""
    known: set[str] = set()
    for line in lines:
        for name in names(line.shown):
            if text(name) not in known and not name.below and name.letter not in ("W", "w", "b", "α", "e"):
                yield text(name)
        known |= {text(each) for each in names(line.name)}
        known |= {text(Name(each.letter, index=Size(s))) for each in names(line.name) for s in ()}


def names(shown: Tree) -> Iterator[Name]:
    """Every name of a tree."""
    match shown:
        case Name():
            yield shown
        case Sum(inside) | Product(inside) | Pointwise(inside) | Listed(inside) | Applied(_, inside, _):
            for each in inside:
                yield from names(each)
        case Minus(one) | Transposed(one) | Root(one):
            yield from names(one)
        case Fraction(one, other) | Indexed(one, other) | Total(_, one as other):
            yield from names(one)
            if other is not one:
                yield from names(other)


def roots_of(shown: Tree) -> Iterator[Tree]:
    """What roots are taken of."""
    match shown:
        case Root(operand):
            yield operand
        case Sum(inside) | Product(inside) | Pointwise(inside) | Listed(inside) | Applied(_, inside, _):
            for each in inside:
                yield from roots_of(each)
        case Minus(one) | Transposed(one) | Total(_, one):
            yield from roots_of(one)
        case Fraction(one, other):
            yield from roots_of(one)
            yield from roots_of(other)


def joined(pieces: Sequence[Tensor]) -> Tensor:
    first, other = (each[:, None] if each.dim() < max(x.dim() for x in pieces) else each for each in pieces)
    shape = torch.broadcast_shapes(first.shape[:-1], other.shape[:-1])
    return torch.cat((first.expand(*shape, -1), other.expand(*shape, -1)), -1)


def product(left: Tensor, right: Tensor) -> Tensor:
    if left.dim() == 0:
        return left * right
    if right.dim() == 5:  # a matrix for each of the experts that a token goes to
        left = left[:, :, None] if left.dim() == 3 else left
        return (left[..., None, :] @ right)[..., 0, :]
    if left.shape[-1] == 1 and right.dim() == 4 and left.dim() == 4 and right.shape[-2] != 1:  # a weight each
        return left * right
    if left.dim() == 4 and right.dim() == 2:  # heads are joined before a matrix
        left = left.transpose(1, 2).flatten(2)
    elif left.dim() == 4 and left.shape[1] != right.shape[1]:  # and several queries share a key
        right = right.repeat_interleave(left.shape[1] // right.shape[1], 1)
    return left @ right
