"""The writing of a ledger: the closed set of operations that a forward is written in.

Shapes are checked as they are written, so a wrong one is refused where it stands, with the operation, the axis and both
sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, cast

from sympy import Expr, Integer, Mul, cancel, floor, sympify

from ..language.errors import ShapeError
from ..language.notation.text import text
from ..language.shapes import Shape, shape_line, spell
from ..language.symbols import S
from .facts import (
    INDEXED,
    ONE,
    ROTARY,
    ZERO,
    Entry,
    Factor,
    Kind,
    Ledger,
    Mask,
    Mixture,
    Order,
    Part,
    Scale,
    Scope,
    Table,
    Tensor,
    Weight,
    equal,
)
from .kinds import sharing

_OWN: Mapping[str, Weight] = {}
MASKED = ("mask", "window", "whole", "chunked")  # which query-key pairs an operation is for
Trained = Callable[[Kind, str], bool]  # whether an operation that has weights trains any, by its kind and path


def record(part: Part, trained: Trained = lambda kind, path: True) -> Ledger:
    """The ledger of a part, run on inputs of the shapes that its own shape line names."""
    ops = Operations(part, trained)
    output = ops.run(part, inputs_of(part))
    return sharing(ops.root, output)


def inputs_of(part: Part) -> list[Tensor]:
    """What a part is given by itself, of the shapes that its shape line names."""
    return [given(axes.name, axes.example) for axes in shape_line(part.shapes).inputs]


def given(name: str, shape: Shape) -> Tensor:
    """What stands in no entry: an input, or indices. Without an axis of S it is not of the tokens that go on."""
    return Tensor(name, shape, encoded=not any(dim.has(S) for dim in shape))


class Operations:
    """The closed set of operations a forward is written in. Names are torch's; "" is the part itself."""

    def __init__(self, part: Part, trained: Trained = lambda kind, path: True) -> None:
        self.root = Scope("", part)
        self._trained = trained
        self._scopes = [self.root]
        self._weights: dict[str, Weight] = {}
        self._share: Expr = ONE  # of the layers that are open, those that store weights

    # -- parts ---------------------------------------------------------------------------------------------------

    def call(self, name: str, part: Part, *inputs: Any) -> Any:
        """Run a part inside this one, under a name."""
        return self._enter(Scope(name, part), inputs)

    def repeat(
        self, name: str, count: Expr, part: Part, x: Tensor, *context: Any, distinct: Expr | None = None
    ) -> Tensor:
        """Run ``count`` equal layers, each on the output of the one before; written once, counted symbolically.

        Only as many as ``distinct`` have weights of their own, where that is given; the others share them.
        """
        # Nothing asks for the gradient of the first layer's input if nothing below is trained; the others' is needed.
        needed = x.grad if x.grad != 0 else (count - 1) / count
        inner = Tensor(x.name, x.shape, None, needed, encoded=x.encoded)
        scope, before = Scope(f"{name}.*", part, count, distinct=distinct), self._share
        self._share = before if distinct is None else before * distinct / count
        held = dict(self._weights)
        y: Tensor = self._enter(scope, (inner, *context))
        if x.grad == 0 and y.grad != 1:  # nothing in a layer is trained either: written again, as none asks for any
            self._weights = held
            self._scopes[-1].items.pop()
            inner = replace(inner, grad=ZERO)
            scope = Scope(f"{name}.*", part, count, distinct=distinct)
            y = self._enter(scope, (inner, *context))
        self._share = before
        scope.loop, scope.handed = (x, inner, y), tuple(each for each in context if isinstance(each, Tensor))
        self._same(f"{self._path(name)}.*", "a layer's output and the next one's input", y.shape, x.shape)
        return y

    def mix_layers(
        self,
        name: str,
        total: Expr,
        kinds: Mapping[str, tuple[Expr, Part, tuple[Any, ...]]],
        x: Tensor,
        order: Order = "any",
    ) -> Tensor:
        """Run ``total`` layers of several kinds, each with a name, its number, and what it reads beside its input.

        What all kinds have alike is one entry of the ledger, under ``name``; the last kind stands for it.
        """
        mixture = Mixture(self._path(f"{name}.*"), total, order)
        for kind, (count, part, context) in kinds.items():
            x = self.repeat(kind, count, part, x, *context)
            cast(Scope, self._scopes[-1].items[-1]).mixture = mixture
        return x

    def run(self, part: Part, inputs: Sequence[Any]) -> Any:
        """Run a part in the scope that is open, and hold it to its shape line."""
        output = part.forward(self, *inputs)
        outputs = output if isinstance(output, tuple) else (output,)
        shape_line(part.shapes).check(
            self._path("") or type(part).__name__,
            [x.shape for x in inputs if isinstance(x, Tensor)],
            [y.shape for y in outputs],
        )
        return output

    def weight(self, path: str) -> Weight:
        """A weight that is already stored, by its path from the root: what a tied head reads."""
        if path not in self._weights:
            raise ShapeError(f"{self._path('')}: no weight {path!r} is stored yet to tie to")
        return self._weights[path]

    def read(self, weight: Weight, *shape: Expr | int) -> Tensor:
        """A stored weight as elementwise operations read it, with axes of 1 to fit theirs: no entry."""
        return replace(self.index(weight.path, *shape), grad=ONE)

    def index(self, name: str, *shape: Expr | int) -> Tensor:
        """Whole numbers that a model makes for itself, such as position ids: no entry, nothing computed."""
        return given(name, tuple(Integer(dim) if isinstance(dim, int) else dim for dim in shape))

    # -- operations with weights ---------------------------------------------------------------------------------

    def lookup(
        self,
        name: str,
        index: Tensor,
        rows: Expr,
        width: Expr,
        table: Table,
        *,
        shared: Mapping[str, Weight] = _OWN,
        skipped: Expr = ZERO,
        fixed: bool = False,
        held: bool = False,
    ) -> Tensor:
        """index[…] -> x[…, width]: rows of a table ``[rows, width]``, stored here unless it is given as shared.

        Of positions, the first token's row has so many ``skipped`` ones before it. A ``fixed`` table is never trained.
        Indices that are ``held`` stand in the model beside the table.
        """
        stored = self._weights_of(name, {"weight": (rows, width)}, shared)
        facts: dict[str, Any] = {"weights": stored, "shared": tuple(shared.values()), "function": table, "module": True}
        facts |= {"skipped": skipped, "fixed": fixed, "held": held}
        return self._write(Kind.LOOKUP, name, (index,), (*index.shape, width), **facts)

    def linear(
        self,
        name: str,
        x: Tensor,
        out: Expr,
        *,
        bias: bool = True,
        shared: Mapping[str, Weight] = _OWN,
        module: bool = True,
        logits: bool = False,
        recalled: bool = False,
        capped: bool = False,
    ) -> Tensor:
        """x[…, in] -> y[…, out]: a matrix ``[out, in]`` and, if wanted, a bias ``[out]``.

        What is given as ``shared`` is stored elsewhere; the rest is stored here.
        """
        wanted: dict[str, Shape] = {"weight": (out, x.width)}
        if bias:
            wanted["bias"] = (out,)
        stored = self._weights_of(name, wanted, shared)
        facts = {"weights": stored, "shared": tuple(shared.values()), "module": module, "logits": logits}
        facts |= {"recalled": recalled, "capped": capped}
        return self._write(Kind.LINEAR, name, (x,), (*x.shape[:-1], out), **facts)

    def convolution(
        self,
        name: str,
        x: Tensor,
        out: Expr,
        kernel: Sequence[Expr | int],
        *,
        stride: Expr | int = 1,
        padding: Expr | int = 0,
        groups: Expr | int = 1,
        bias: bool = True,
        causal: bool = False,
    ) -> Tensor:
        """x[B, in, …] -> y[B, out, …]: a table ``[out, in/groups, *kernel]`` that slides over the positions.

        Of n positions are left (n + 2·padding - kernel)/stride + 1: rounded down where the stride is a number, and
        where it is a size it has to divide, which is for whoever writes the part to say.
        """
        if len(x.shape) != 2 + len(kernel):
            raise ShapeError(
                f"{self._path(name)}: a kernel of {len(kernel)} axes slides over x[B, channels, …] of as many axes of "
                f"positions, and x is {spell(x.shape)}"
            )
        channels = x.shape[1]
        if groups != 1 and not (equal(channels, sympify(groups)) and equal(out, channels)):
            raise ShapeError(
                f"{self._path(name)}: groups={text(sympify(groups))} of {text(channels)} channels to {text(out)}; one "
                "group, or a channel to a group and as many out, is known"
            )
        window: Shape = tuple(Integer(size) if isinstance(size, int) else size for size in kernel)
        wanted: dict[str, Shape] = {"weight": (out, cancel(channels / groups), *window)}
        if bias:
            wanted["bias"] = (out,)
        places = (_slides(n, size, stride, padding) for n, size in zip(x.shape[2:], window, strict=True))
        facts = {"weights": self._weights_of(name, wanted, _OWN), "module": True, "causal": causal}
        return self._write(Kind.CONVOLUTION, name, (x,), (x.shape[0], out, *places), **facts)

    def look_back(self, name: str, x: Tensor, kernel: Expr, *, bias: bool = True) -> Tensor:
        """x[B,E,S] -> y[B,E,S]: each channel by itself, over the last ``kernel`` places.

        Padded on both sides, as torch pads, it gives kernel - 1 places more than are used.
        """
        y = self.convolution(
            name, x, x.shape[1], (kernel,), padding=kernel - 1, groups=x.shape[1], bias=bias, causal=True
        )
        return y.view(x.shape)

    def experts(self, name: str, x: Tensor, chosen: Tensor, rows: Expr, out: Expr, *, bias: bool = False) -> Tensor:
        """x[B,S,in] or x[B,S,K,in], chosen[B,S,K] -> y[B,S,K,out]: a table ``[rows, out, in]``, a matrix an expert.

        A bias, if wanted, is a table ``[rows, out]`` beside it.
        """
        if len(x.shape) > len(chosen.shape):
            self._same(self._path(name), "the experts chosen and those that go on", x.shape[:-1], chosen.shape)
        weights = [self._store(name, "", (rows, out, x.width))]
        if bias:
            weights.append(self._store(f"{name}_bias", "", (rows, out)))
        return self._write(Kind.EXPERTS, name, (x, chosen), (*chosen.shape, out), weights=tuple(weights), module=True)

    def parameter(self, name: str, **shapes: Shape) -> dict[str, Weight]:
        """Weights stored by themselves, for other operations to share."""
        stored = {part: self._store(name, part, shape) for part, shape in shapes.items()}
        nowhere = Tensor(self._path(name), ())
        self._scopes[-1].items.append(
            Entry(
                Kind.PARAMETER,
                nowhere.name,
                (),
                nowhere,
                weights=tuple(stored.values()),
                frozen=not self._trained(Kind.PARAMETER, nowhere.name),
                module=True,
            )
        )
        return stored

    def learned(self, name: str, *shape: Expr, fixed: bool = False) -> Tensor:
        """A weight of this shape, read as it stands: a class token, or positions that are no table; ``fixed`` ones are
        never trained.
        """
        weight = self._store(name, "", shape)
        trained = not fixed and self._trained(Kind.PARAMETER, weight.path)
        x = Tensor(weight.path, shape, None, ONE if trained else ZERO)
        facts: dict[str, Any] = {"weights": (weight,), "frozen": not trained, "fixed": fixed, "module": True}
        entry = Entry(Kind.PARAMETER, weight.path, (), x, **facts)
        self._scopes[-1].items.append(entry)
        return x

    def norm(
        self,
        name: str,
        x: Tensor,
        function: str,
        *,
        scale: bool = True,
        bias: bool = True,
        each: Shape = (),
        module: bool = True,
    ) -> Tensor:
        """x[…, E] -> y[…, E]: normalised over the last axis; a scale ``[E]`` and a bias ``[E]`` if they are stored.

        Where ``each`` is given, such as the number of heads, each of so many has its own.
        """
        stored = [part for part, wanted in (("weight", scale), ("bias", bias)) if wanted]
        weights = tuple(self._store(name, part, (*each, x.width)) for part in stored)
        return self._write(Kind.NORM, name, (x,), x.shape, weights=weights, function=function, module=module)

    # -- operations without weights ------------------------------------------------------------------------------

    def activation(self, name: str, x: Tensor, function: str, *, module: bool = True) -> Tensor:
        """An elementwise function, by its usual name (gelu, silu, tanh)."""
        return self._write(Kind.ACTIVATION, name, (x,), x.shape, function=function, module=module)

    def dropout(self, name: str, x: Tensor) -> Tensor:
        """Dropout: no weights, the same shape."""
        return self._write(Kind.DROPOUT, name, (x,), x.shape, module=True)

    def add(self, name: str, x: Tensor, y: Tensor) -> Tensor:
        """X + y, axis by axis the same or 1."""
        return self._write(Kind.ADD, name, (x, y), self._broadcast(name, x, y))

    def multiply(self, name: str, x: Tensor, y: Tensor, function: Literal["", "lifted"] = "") -> Tensor:
        """X · y elementwise, axis by axis the same or 1; or x · (1 + y), where that is ``lifted``."""
        return self._write(Kind.MULTIPLY, name, (x, y), self._broadcast(name, x, y), function=function)

    def scale(self, name: str, x: Tensor, function: Factor = "", *, logits: bool = False) -> Tensor:
        """X times a number that the model has, or times or over the root of its width: nothing is stored or kept."""
        return self._write(Kind.MULTIPLY, name, (x,), x.shape, logits=logits, function=function)

    def positions(self, name: str, length: Expr, width: Expr, function: str) -> Tensor:
        """A fixed table: [1, length, width] to add, or [2, length, width], cosines and sines, to rotate by."""
        tables = Integer(2 if function in ROTARY else 1)
        return self._write(Kind.POSITIONS, name, (), (tables, length, width), function=function, module=True)

    def waves(self, name: str, x: Tensor, width: Expr) -> Tensor:
        """x[…] -> y[…, width]: sines and cosines of each number, at rates that are fixed."""
        return self._write(Kind.POSITIONS, name, (x,), (*x.shape, width), function="waves", module=True)

    def slopes(self, name: str, heads: Expr, length: Expr) -> Tensor:
        """A fixed table [1, heads, 1, length] to add to scores: of each head a line over the keys."""
        return self._write(Kind.POSITIONS, name, (), (ONE, heads, ONE, length), function="slopes")

    def rotate(self, name: str, x: Tensor, angles: Tensor) -> Tensor:
        """Rotary positions applied to x[B,A,S,D], by angles[2,S,D], or to its first elements by narrower angles."""
        return self._write(Kind.ROTATE, name, (x, angles), x.shape)

    def join(self, name: str, x: Tensor, y: Tensor) -> Tensor:
        """x[…, a], y[…, b] -> z[…, a+b], the axes before the same or 1."""
        ones = [Tensor(each.name, (*each.shape[:-1], ONE)) for each in (x, y)]
        return self._write(Kind.JOIN, name, (x, y), (*self._broadcast(name, *ones)[:-1], x.width + y.width))

    def precede(self, name: str, x: Tensor, y: Tensor) -> Tensor:
        """x[B,a,E], y[B,b,E] -> z[B,a+b,E]: tokens before others, the other axes the same or 1."""
        ones = [Tensor(each.name, (each.shape[0], ONE, each.width)) for each in (x, y)]
        batch, _, width = self._broadcast(name, *ones)
        return self._write(Kind.JOIN, name, (x, y), (batch, x.shape[1] + y.shape[1], width), function="tokens")

    def select(self, name: str, x: Tensor, *, each: bool = False) -> Tensor:
        """x[B,S,E] -> y[B,E]: one position of each sequence; where ``each`` has another, they are copied together."""
        function = INDEXED if each else ""
        return self._write(Kind.SELECT, name, (x,), (x.shape[0], *x.shape[2:]), function=function)

    def match(self, name: str, x: Tensor, y: Tensor) -> Tensor:
        """x[B,E], y[C,E] -> s[B,C]: the product of each row of one with each row of the other."""
        self._same(self._path(name), "the widths of what is matched", x.shape[1:], y.shape[1:])
        return self._write(Kind.MATCH, name, (x, y), (x.shape[0], y.shape[0]))

    def route(self, name: str, x: Tensor, chosen: Expr) -> Tensor:
        """x[B,S,X] -> w[B,S,K]: which K of the X, and with what weights."""
        return self._write(Kind.ROUTE, name, (x,), (*x.shape[:-1], chosen))

    def combine(self, name: str, x: Tensor, weights: Tensor) -> Tensor:
        """x[B,S,K,E], w[B,S,K] -> y[B,S,E]: the sum over K, weighted."""
        self._same(self._path(name), "what is added up and its weights", x.shape[:-1], weights.shape)
        return self._write(Kind.COMBINE, name, (x, weights), (*x.shape[:-2], x.width))

    # -- state ---------------------------------------------------------------------------------------------------

    def scan(
        self,
        name: str,
        x: Tensor,
        step: Tensor,
        write: Tensor,
        read: Tensor,
        shared: Mapping[str, Weight],
        chunk: Expr | None = None,
    ) -> Tensor:
        """x[B,A,S,D], step[B,S,A], write and read[B,G,S,N] -> y[B,A,S,D]: each head's state [D,N] after each token.

        The state decays and takes x in along ``write``, both by the token's step; y is the state along ``read``.
        """
        path = self._path(name)
        self._same(path, "the heads and the tokens of a scan and of its steps", x.shape[1:3], step.shape[:0:-1])
        self._same(path, "what a scan writes along and what it reads along", write.shape, read.shape)
        self._same(path, "the tokens of a scan and of what it writes along", x.shape[2:3], write.shape[2:3])
        facts = {"shared": tuple(shared.values()), "chunk": chunk}
        return self._write(Kind.SCAN, name, (x, step, write, read), x.shape, **facts)

    # -- attention -----------------------------------------------------------------------------------------------

    def scores(
        self,
        name: str,
        q: Tensor,
        k: Tensor,
        mask: Mask,
        window: Expr | None = None,
        *,
        latent: tuple[Tensor, ...] = (),
        scale: Scale = "scores",
        recalled: bool = False,
        whole: bool = False,
        chunked: bool = False,
        capped: bool = False,
    ) -> Tensor:
        """q[B,A,S,D], k[B,G,C,D] -> s[B,A,S,C]: each query with each key, by head, and over the root of D."""
        self._same(self._path(name), "the head width of queries and keys", q.shape[-1:], k.shape[-1:])
        facts = {"mask": mask, "window": window, "whole": whole, "chunked": chunked, "latent": latent}
        facts |= {"function": scale, "recalled": recalled, "capped": capped}
        return self._write(Kind.SCORES, name, (q, k), (*q.shape[:3], k.shape[2]), **facts)

    def softmax(self, name: str, x: Tensor, function: str = "", sinks: Mapping[str, Weight] = _OWN) -> Tensor:
        """Softmax over the last axis; ``function`` is ``float32`` where it is computed so whatever its input is.

        A sink is a number of its own beside each row, which takes its share and is then left out.
        """
        return self._write(Kind.SOFTMAX, name, (x,), x.shape, function=function, shared=tuple(sinks.values()))

    def mix(
        self,
        name: str,
        p: Tensor,
        v: Tensor,
        mask: Mask,
        window: Expr | None = None,
        *,
        latent: tuple[Tensor, ...] = (),
        whole: bool = False,
        chunked: bool = False,
        function: str = "",
    ) -> Tensor:
        """p[B,A,S,C], v[B,G,C,D] -> y[B,A,S,D]: the values, weighted by head.

        ``function`` is ``by head`` where a token's heads do not stand side by side, as its queries do not that were
        put together of what turned and what did not: merging the heads then is a copy.
        """
        self._same(self._path(name), "the number of keys and of values", p.shape[-1:], v.shape[2:3])
        facts = {"mask": mask, "window": window, "whole": whole, "chunked": chunked}
        facts |= {"latent": latent, "function": function}
        return self._write(Kind.MIX, name, (p, v), (*p.shape[:3], v.shape[3]), **facts)

    # -- views: no entry, the same storage -----------------------------------------------------------------------

    def split(self, x: Tensor, widths: Sequence[Expr]) -> list[Tensor]:
        """x[…, a+b+…] -> [x[…, a], x[…, b], …]."""
        self._same(self._path(""), "the pieces of a split", (sum(widths, Integer(0)),), x.shape[-1:])
        return [replace(x.view((*x.shape[:-1], width)), place=place) for place, width in enumerate(widths)]

    def heads(self, x: Tensor, heads: Expr, width: Expr) -> Tensor:
        """x[B,S,A·D] -> x[B,A,S,D]."""
        self._same(self._path(""), "heads times head width", (heads * width,), x.shape[-1:])
        return x.view((x.shape[0], heads, x.shape[1], width))

    def spread(self, x: Tensor, heads: Expr) -> Tensor:
        """x[B,G,S,D] -> x[B,A,S,D]: what a group of heads shares, for each of them."""
        return x.view((x.shape[0], heads, *x.shape[2:]))

    def merge(self, x: Tensor) -> Tensor:
        """x[B,A,S,D] -> x[B,S,A·D]."""
        return x.view((x.shape[0], x.shape[2], x.shape[1] * x.shape[3]))

    def channels_first(self, x: Tensor) -> Tensor:
        """x[B,S,E] -> x[B,E,S]: what a convolution over a sequence reads."""
        return x.view((x.shape[0], x.shape[2], x.shape[1]))

    def channels_last(self, x: Tensor) -> Tensor:
        """x[B,E,…] -> x[B,S,E]: the places of a convolution, one after another."""
        return x.view((x.shape[0], Mul(*x.shape[2:]), x.shape[1]))

    # -- the writing itself --------------------------------------------------------------------------------------

    def _enter(self, scope: Scope, inputs: Sequence[Any]) -> Any:
        self._scopes[-1].items.append(scope)
        self._scopes.append(scope)
        try:
            return self.run(scope.part, inputs)
        finally:
            self._scopes.pop()

    def _path(self, name: str) -> str:
        return ".".join(part for part in (*(scope.name for scope in self._scopes), name) if part)

    def _store(self, name: str, part: str, shape: Shape) -> Weight:
        weight = Weight(".".join(filter(None, (self._path(name), part))), shape, self._share)
        if weight.path in self._weights:
            raise ShapeError(f"{weight.path} is stored twice; give the two operations different names")
        self._weights[weight.path] = weight
        return weight

    def _weights_of(self, name: str, wanted: dict[str, Shape], shared: Mapping[str, Weight]) -> tuple[Weight, ...]:
        for part, weight in shared.items():
            self._same(self._path(name), f"the shared {part} and the one needed", weight.shape, wanted[part])
        return tuple(self._store(name, part, shape) for part, shape in wanted.items() if part not in shared)

    def _write(self, kind: Kind, name: str, inputs: tuple[Tensor, ...], shape: Shape, **facts: Any) -> Tensor:
        path = self._path(name)
        has_weights = bool(facts.get("weights") or facts.get("shared"))
        trained = has_weights and not facts.get("fixed") and self._trained(kind, path)
        facts = {**facts, "frozen": has_weights and not trained}
        grad = ONE if trained else max((x.grad for x in inputs), key=_share, default=ZERO)
        # What is done to scores, one by one, is done to the same pairs: softmax, dropout, an added bias.
        like = next((x for x in inputs if x.mask != "none" and x.shape == shape), None)
        if like is not None:
            facts = {name: getattr(like, name) for name in MASKED} | facts
        pairs = {} if kind is Kind.MIX else {name: facts[name] for name in MASKED if name in facts}
        encoded = all(x.encoded for x in inputs) if inputs else given(path, shape).encoded
        output = Tensor(path, shape, None, grad, encoded=encoded, **pairs)
        self._scopes[-1].items.append(Entry(kind, path, inputs, output, **facts))
        return output

    def _broadcast(self, name: str, x: Tensor, y: Tensor) -> Shape:
        if len(x.shape) != len(y.shape):
            raise ShapeError(
                f"{self._path(name)}: {spell(x.shape)} and {spell(y.shape)} differ in their number of axes"
            )
        for axis, (left, right) in enumerate(zip(x.shape, y.shape, strict=True)):
            if 1 not in (left, right) and not equal(left, right):
                raise ShapeError(
                    f"{self._path(name)}: axis {axis} is {text(left)} on one side and {text(right)} on the other"
                )
        return tuple(right if left == 1 else left for left, right in zip(x.shape, y.shape, strict=True))

    def _same(self, path: str, what: str, left: Shape, right: Shape) -> None:
        if len(left) != len(right) or not all(equal(a, b) for a, b in zip(left, right, strict=True)):
            raise ShapeError(f"{path}: {what} differ: {spell(left)} and {spell(right)}")


def _slides(length: Expr, kernel: Expr, stride: Expr | int, padding: Expr | int) -> Expr:
    """How many places a window stands at."""
    steps = cancel((length + 2 * padding - kernel) / stride)
    return cancel((floor(steps) if isinstance(stride, int) else steps) + 1)


def _share(grad: Expr) -> int:
    return 0 if grad == 0 else 2 if grad == 1 else 1
