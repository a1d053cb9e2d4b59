"""Operations that record a ledger: the closed set in which every ``forward`` is written.

Each operation checks its shapes, so an error names the operation, the axis and both sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal, cast

from sympy import Expr, Integer, Mul, cancel, ceiling, floor, sympify

from ..language.aliases import Alias
from ..language.errors import ShapeError
from ..language.notation.text import text
from ..language.shape_lines import Shape, shape_line, spell
from ..language.symbols import S, S_img, S_txt
from .facts import (
    AVERAGED,
    BACK,
    BY_HEAD,
    BY_ROW,
    COMPRESSED,
    COPIES,
    EARLIER,
    GENERAL,
    GROUPED,
    INDEXED,
    INTERPOLATED,
    JOINED_STREAMS,
    LISTED,
    MAGNITUDE,
    ONE,
    OTHER_STREAMS,
    OVERLAPPING,
    PLACED,
    POOLED,
    RESAMPLED,
    REST,
    ROTARY,
    ROW,
    SCATTERED,
    SHIFTED,
    STREAM,
    STREAMS,
    SUBTRACTED,
    SUMMED,
    UNWINDOWED,
    WEIGHT_NORM,
    WINDOWS,
    ZERO,
    Entry,
    Factor,
    Ledger,
    Mask,
    Mixture,
    OperationKind,
    Order,
    Part,
    Scale,
    Scope,
    Table,
    Tensor,
    Weight,
    equal,
)
from .layer_kinds import sharing

_OWN: Mapping[str, Weight] = {}
MASKED = ("mask", "window", "whole", "chunked", "chosen", "compressed")  # the query-key pairs of an operation
Trained = Callable[[OperationKind, str], bool]  # whether the weights of an operation are trained, by its kind and path


def record(part: Part, trained: Trained = lambda kind, path: True) -> Ledger:
    """Return the ledger of a part, recorded on inputs with the shapes of its shape line.

    Parameters
    ----------
    part : Part
        The part to record.
    trained : Callable[[OperationKind, str], bool]
        Whether the weights of an operation are trained, by its kind and path. By default all are.

    Raises
    ------
    ShapeError
        If the shapes of an operation do not fit.

    """
    ops = Operations(part, trained)
    output = ops.run(part, inputs_of(part))
    return sharing(ops.root, output)


def inputs_of(part: Part) -> list[Tensor]:
    """Return the inputs of a part, with the shapes of its shape line."""
    return [given(axes.name, axes.example) for axes in shape_line(part.shapes).inputs]


def given(name: str, shape: Shape) -> Tensor:
    """Return a tensor that no entry produces: an input or indices. Without an axis of tokens it counts as encoded."""
    return Tensor(name, shape, encoded=not any(dim.has(S, S_txt, S_img) for dim in shape))


class Operations:
    """The closed set of operations in which a ``forward`` is written.

    The ``name`` of an operation is its torch name within the part; "" is the part itself.
    """

    def __init__(self, part: Part, trained: Trained = lambda kind, path: True) -> None:
        self.root = Scope("", part)
        self._trained = trained
        self._scopes = [self.root]
        self._weights: dict[str, Weight] = {}
        self._share: Expr = ONE  # of the layers being recorded, the share that stores weights
        self._encoding = False  # whether the operations being recorded belong to an encoder of a language model
        self._functions: tuple[str, ...] = getattr(part, "functions", ())
        self._used: Expr = ONE  # of the operations being recorded, the share whose results reach the output
        self._detached = False  # whether the operations being recorded run without gradients

    # -- parts ---------------------------------------------------------------------------------------------------

    def call(self, name: str, part: Part, *inputs: Any) -> Any:
        """Record a part inside this one, under a name, and return its output."""
        return self._enter(Scope(name, part), inputs)

    def call_shared(self, name: str, part: Part, *inputs: Any, share: Expr) -> Any:
        """Record a part of a repeated layer that is stored for only this share of the layers: 1 if for each of them.

        Inside a part that layers share, it is relative to all layers, too.
        """
        before, self._share = self._share, share
        try:
            return self._enter(Scope(name, part, distinct=None if share == before else share / before), inputs)
        finally:
            self._share = before

    @contextmanager
    def detached(self) -> Iterator[None]:
        """Record operations that run without gradients, as under ``torch.no_grad``."""
        before, self._detached = self._detached, True
        try:
            yield
        finally:
            self._detached = before

    def repeat(
        self, name: str, count: Expr, part: Part, x: Tensor, *context: Any, distinct: Expr | None = None
    ) -> Tensor:
        """Record ``count`` identical layers, each on the output of the previous one. The count is symbolic.

        If ``distinct`` is given, only that many layers have their own weights; the others share them.
        """
        # If nothing below is trained, the first layer needs no gradient of its input; all other layers do.
        needed = x.grad if x.grad != 0 else (count - 1) / count
        inner = Tensor(x.name, x.shape, None, needed, encoded=x.encoded)
        scope, before = Scope(f"{name}.*", part, count, distinct=distinct), self._share
        self._share = before if distinct is None else before * distinct / count
        held = dict(self._weights)
        y: Tensor = self._enter(scope, (inner, *context))
        if x.grad == 0 and y.grad != 1:  # the layers train nothing: record them again without gradients
            self._weights = held
            self._scopes[-1].items.pop()
            inner = replace(inner, grad=ZERO)
            scope = Scope(f"{name}.*", part, count, distinct=distinct)
            y = self._enter(scope, (inner, *context))
        self._share = before
        scope.loop, scope.handed = (x, inner, y), tuple(each for each in context if isinstance(each, Tensor))
        self._same(f"{self._path(name)}.*", "a layer's output and the next one's input", y.shape, x.shape)
        return y

    def side_by_side(self, name: str, count: Expr, part: Part, *inputs: Any) -> Any:
        """Record a part of which there are ``count`` copies side by side, and return the output of one of them.

        Inside repeated layers, ``count`` can be the share of the layers that have the part.
        """
        return self._enter(Scope(name, part, count, parallel=True), inputs)

    @contextmanager
    def encoder(self) -> Iterator[None]:
        """Record the encoder of a language model, whose learned tokens also exist before the first new token."""
        before, self._encoding = self._encoding, True
        try:
            yield
        finally:
            self._encoding = before

    @contextmanager
    def used(self, share: Expr) -> Iterator[None]:
        """Record operations that run, but of whose copies only a share reaches the model's output."""
        before, self._used = self._used, share
        try:
            yield
        finally:
            self._used = before

    def mix_layers(
        self,
        name: str,
        total: Expr,
        kinds: Mapping[str, tuple[Expr, Part, tuple[Any, ...]]],
        x: Tensor,
        order: Order = "any",
    ) -> Tensor:
        """Record ``total`` layers of several kinds, each with a name, a count, a part and its further inputs.

        Operations that all kinds share become one entry of the ledger, under ``name``, represented by the last kind.
        """
        mixture = Mixture(self._path(f"{name}.*"), f"{name}.*", total, order)
        for kind, (count, part, context) in kinds.items():
            x = self.repeat(kind, count, part, x, *context)
            cast(Scope, self._scopes[-1].items[-1]).mixture = mixture
        return x

    def run(self, part: Part, inputs: Sequence[Any]) -> Any:
        """Record a part in the current scope and check it against its shape line. Raises ShapeError."""
        output = part.forward(self, *inputs)
        outputs = output if isinstance(output, tuple) else (output,)
        shape_line(part.shapes).check(
            self._path("") or type(part).__name__,
            [x.shape for x in inputs if isinstance(x, Tensor)],
            [y.shape for y in outputs],
        )
        return output

    def weight(self, path: str) -> Weight:
        """Return a stored weight by its path from the root, for a tied LM head. Raises ShapeError if there is none."""
        if path not in self._weights:
            raise ShapeError(f"{self._path('')}: cannot tie to {path!r}, because no such weight is stored yet")
        return self._weights[path]

    def read(self, weight: Weight, *shape: Expr | int) -> Tensor:
        """Return a stored weight as a tensor for elementwise operations, in a broadcastable shape; adds no entry."""
        return replace(self.index(weight.path, *shape), grad=ONE)

    def index(self, name: str, *shape: Expr | int) -> Tensor:
        """Return integers that a model creates itself, such as position ids; adds no entry."""
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
        """index[…] -> x[…, width]: rows of a table ``[rows, width]``, stored here unless it is given as ``shared``.

        In a table of positions, ``skipped`` rows precede the first token's row. A ``fixed`` table is never trained.
        With ``held``, the model stores the indices next to the table.
        """
        stored = self._weights_of(name, {"weight": (rows, width)}, shared)
        facts: dict[str, Any] = {"weights": stored, "shared": tuple(shared.values()), "function": table, "module": True}
        facts |= {"skipped": skipped, "fixed": fixed, "held": held}
        return self._write(OperationKind.LOOKUP, name, (index,), (*index.shape, width), **facts)

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
        function: Literal["", "float32"] = "",
    ) -> Tensor:
        """x[…, in] -> y[…, out]: a matrix ``[out, in]`` and an optional bias ``[out]``.

        Weights given as ``shared`` are stored elsewhere; the others are stored here. Without a ``module``, these are
        parameters NAME_weight and NAME_bias of the part. With ``float32``, the product is computed in single precision
        for every dtype.
        """
        wanted: dict[str, Shape] = {"weight": (out, x.width)}
        if bias:
            wanted["bias"] = (out,)
        if module:
            stored = self._weights_of(name, wanted, shared)
        else:
            own = {part: shape for part, shape in wanted.items() if part not in shared}
            stored = tuple(self._store(f"{name}_{part}", "", shape) for part, shape in own.items())
        facts = {"weights": stored, "shared": tuple(shared.values()), "module": module, "logits": logits}
        facts |= {"recalled": recalled, "capped": capped, "function": function}
        return self._write(OperationKind.LINEAR, name, (x,), (*x.shape[:-1], out), **facts)

    def grouped_linear(self, name: str, x: Tensor, groups: Expr, out: Expr) -> Tensor:
        """x[B,S,G·in] -> y[B,S,G·out]: a matrix ``[out, in]`` for each of G groups of elements, stored as one."""
        batch, length, width = x.shape
        inner = cancel(width / groups)
        weights = (self._store(name, "weight", (groups * out, inner)),)
        split = x.view((batch, length, groups, inner))
        facts = {"weights": weights, "function": GROUPED, "module": True}
        y = self._write(OperationKind.LINEAR, name, (split,), (batch, length, groups, out), **facts)
        return y.view((batch, length, groups * out))

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
        weight_norm: bool = False,
        function: str = "",
    ) -> Tensor:
        """x[B, in, …] -> y[B, out, …]: a kernel ``[out, in/groups, *kernel]`` that slides over the positions.

        An axis of n positions becomes (n + 2·padding - kernel)/stride + 1, rounded down if the stride is a number. A
        symbolic stride must divide, and ``groups`` must divide the channels; the part must state these conditions.
        With ``weight_norm``, the matrix at each position of the kernel is a stored matrix divided by its length and
        multiplied by a stored number.
        """
        if len(x.shape) != 2 + len(kernel):
            raise ShapeError(
                f"{self._path(name)}: a kernel with {len(kernel)} axes needs x[B, channels, …] with as many axes of "
                f"positions, but x is {spell(x.shape)}"
            )
        channels = x.shape[1]
        if groups != 1 and not equal(out, channels):
            raise ShapeError(
                f"{self._path(name)}: groups={text(sympify(groups))} from {text(channels)} channels to {text(out)} is "
                "not supported; use one group, or as many output channels as input channels"
            )
        window: Shape = tuple(Integer(size) if isinstance(size, int) else size for size in kernel)
        stored, lengths = WEIGHT_NORM if weight_norm else ("weight", "")
        wanted: dict[str, Shape] = {stored: (out, cancel(channels / groups), *window)}
        if weight_norm:
            wanted[lengths] = (ONE, ONE, *window)
        if bias:
            wanted["bias"] = (out,)
        places = (_slides(n, size, stride, padding) for n, size in zip(x.shape[2:], window, strict=True))
        facts = {"weights": self._weights_of(name, wanted, _OWN), "module": True, "causal": causal}
        facts |= {"function": function}
        return self._write(OperationKind.CONVOLUTION, name, (x,), (x.shape[0], out, *places), **facts)

    def causal_depthwise_convolution(
        self, name: str, x: Tensor, kernel: Expr, *, bias: bool = True, function: str = ""
    ) -> Tensor:
        """x[B,E,S] -> y[B,E,S]: a causal depthwise convolution over the last ``kernel`` positions.

        torch pads on both sides, so it computes kernel - 1 unused positions. With the function ``EARLIER_INPUTS``, its
        state contains kernel - 1 inputs, and a single new token is computed elementwise.
        """
        y = self.convolution(
            *(name, x, x.shape[1], (kernel,)),
            padding=kernel - 1,
            groups=x.shape[1],
            bias=bias,
            causal=True,
            function=function,
        )
        return y.view(x.shape)

    def experts(self, name: str, x: Tensor, chosen: Tensor, rows: Expr, out: Expr, *, bias: bool = False) -> Tensor:
        """x[B,S,in] or x[B,S,K,in], chosen[B,S,K] -> y[B,S,K,out]: ``[rows, out, in]``, one matrix per expert.

        The optional bias has shape ``[rows, out]``.
        """
        if len(x.shape) > len(chosen.shape):
            self._same(self._path(name), "the axes of the chosen experts and of x", x.shape[:-1], chosen.shape)
        weights = [self._store(name, "", (rows, out, x.width))]
        if bias:
            weights.append(self._store(f"{name}_bias", "", (rows, out)))
        return self._write(
            OperationKind.EXPERTS, name, (x, chosen), (*chosen.shape, out), weights=tuple(weights), module=True
        )

    def parameter(self, name: str, **shapes: Shape) -> dict[str, Weight]:
        """Store weights for other operations to share, and return them by name.

        The weight and the bias of a module are one entry, named after the module. Any other parameter has an entry of
        its own, so that no row is named after the part that it belongs to.
        """
        stored = {part: self._store(name, part, shape) for part, shape in shapes.items()}
        of_module = bool(name) and shapes.keys() <= {"weight", "bias"}
        every = list(stored.values())
        entries = [(self._path(name), every)] if of_module else [(weight.path, [weight]) for weight in every]
        for path, weights in entries:
            facts: dict[str, Any] = {"weights": tuple(weights), "module": True}
            frozen = not self._trained(OperationKind.PARAMETER, path)
            entry = Entry(OperationKind.PARAMETER, path, (), Tensor(path, ()), **facts, frozen=frozen)
            self._scopes[-1].items.append(entry)
        return stored

    def learned(self, name: str, *shape: Expr, fixed: bool = False, adapter: bool = False) -> Tensor:
        """Store a weight and return it as a tensor, such as a class token; a ``fixed`` one is never trained."""
        weight = self._store(name, "", shape)
        trained = not fixed and self._trained(OperationKind.PARAMETER, weight.path)
        encoded = self._encoding and given(weight.path, shape).encoded
        x = Tensor(weight.path, shape, None, ONE if trained else ZERO, encoded=encoded)
        facts: dict[str, Any] = {"weights": (weight,), "frozen": not trained, "fixed": fixed, "module": True}
        entry = Entry(OperationKind.PARAMETER, weight.path, (), x, **facts, adapter=adapter)
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
        shared: Mapping[str, Weight] = _OWN,
        groups: Expr = ONE,
        float32: bool = False,
    ) -> Tensor:
        """x[…, E] -> y[…, E]: normalized over the last axis, with an optional scale ``[E]`` and bias ``[E]``.

        ``each`` adds leading axes to scale and bias, such as one for the heads. Weights given as ``shared`` are stored
        elsewhere. Each of ``groups`` parts of a row is normalized separately. With ``float32`` the class keeps the
        result in float32.
        """
        wanted = {part: (*each, x.width) for part, has in (("weight", scale), ("bias", bias)) if has}
        facts: dict[str, Any] = {"function": function, "module": module, "shared": tuple(shared.values())}
        facts["weights"] = self._weights_of(name, wanted, shared)
        facts |= {"groups": groups, "float32": float32}
        return self._write(OperationKind.NORM, name, (x,), x.shape, **facts)

    # -- operations without weights ------------------------------------------------------------------------------

    def activation(
        self,
        name: str,
        x: Tensor,
        function: str,
        *,
        module: bool = True,
        stored: Mapping[str, Weight] = _OWN,
        float32: bool = False,
    ) -> Tensor:
        """Apply an elementwise function by its usual name (gelu, silu, tanh), with ``stored`` as its parameters.

        With ``float32`` the class casts its input to float32.
        """
        facts = {"function": function, "module": module, "shared": tuple(stored.values()), "float32": float32}
        return self._write(OperationKind.ACTIVATION, name, (x,), x.shape, **facts)

    def dropout(self, name: str, x: Tensor) -> Tensor:
        """Apply dropout: no weights, the same shape."""
        return self._write(OperationKind.DROPOUT, name, (x,), x.shape, module=True)

    def add(self, name: str, x: Tensor, y: Tensor, *, float32: bool = False) -> Tensor:
        """Return x + y, broadcast along axes of 1. With ``float32`` the class keeps the result in float32."""
        return self._write(OperationKind.ADD, name, (x, y), self._broadcast(name, x, y), float32=float32)

    def subtract(self, name: str, x: Tensor, y: Tensor) -> Tensor:
        """Return x - y, broadcast along axes of 1."""
        return self._write(OperationKind.ADD, name, (x, y), self._broadcast(name, x, y), function=SUBTRACTED)

    def interpolate(self, name: str, x: Tensor, y: Tensor, share: Tensor) -> Tensor:
        """Return x + share · (y - x) elementwise; the share broadcasts along axes of 1."""
        self._same(self._path(name), "the interpolated tensors", x.shape, y.shape)
        shape = self._broadcast(name, x, share)
        return self._write(OperationKind.ADD, name, (x, y, share), shape, function=INTERPOLATED)

    def multiply(
        self,
        name: str,
        x: Tensor,
        y: Tensor,
        function: Literal["", "lifted", "rescaled"] = "",
        *,
        float32: bool = False,
    ) -> Tensor:
        """Return x · y elementwise, broadcast along axes of 1; or x · (1 + y) with function="lifted".

        With function="rescaled", y is divided by the norms of the rows of the matrix that computes x. With ``float32``
        the class keeps the result in float32.
        """
        facts = {"function": function, "float32": float32}
        return self._write(OperationKind.MULTIPLY, name, (x, y), self._broadcast(name, x, y), **facts)

    def scale(self, name: str, x: Tensor, function: Factor = "", *, logits: bool = False) -> Tensor:
        """Multiply x by a constant, by sqrt(width) or by 1 / sqrt(width), without weights or saved tensors."""
        return self._write(OperationKind.MULTIPLY, name, (x,), x.shape, logits=logits, function=function)

    def positions(self, name: str, length: Expr, width: Expr, function: str) -> Tensor:
        """Return a fixed table: [1, length, width] to add, or [2, length, width] (cosines and sines) to rotate by."""
        tables = Integer(2 if function in ROTARY else 1)
        return self._write(OperationKind.POSITIONS, name, (), (tables, length, width), function=function, module=True)

    def sinusoids(self, name: str, x: Tensor, width: Expr) -> Tensor:
        """x[…] -> y[…, width]: sines and cosines of each number at fixed frequencies."""
        return self._write(OperationKind.POSITIONS, name, (x,), (*x.shape, width), function="waves", module=True)

    def slopes(self, name: str, heads: Expr, length: Expr) -> Tensor:
        """Return a fixed table [1, heads, 1, length] to add to scores: per head, a slope times the key position."""
        return self._write(OperationKind.POSITIONS, name, (), (ONE, heads, ONE, length), function="slopes")

    def temperatures(self, name: str, length: Expr) -> Tensor:
        """Return a fixed table [1, 1, length, 1] to multiply queries by: a factor per position."""
        return self._write(OperationKind.POSITIONS, name, (), (ONE, ONE, length, ONE), function="temperatures")

    def rotate(
        self, name: str, x: Tensor, angles: Tensor, *, back: bool = False, compressed: Expr | None = None
    ) -> Tensor:
        """Apply rotary positions to x[B,A,S,D] by angles[2,S,D], or undo them with ``back``.

        Narrower angles rotate only a part of the elements. Shorter angles rotate only the last tokens. With
        ``compressed``, x has an entry for each group of that many tokens, rotated by the position of the first token.
        """
        facts = {"function": BACK if back else "", "compressed": compressed}
        return self._write(OperationKind.ROTATE, name, (x, angles), x.shape, **facts)

    def concatenate(self, name: str, x: Tensor, y: Tensor) -> Tensor:
        """x[…, a], y[…, b] -> z[…, a+b]: concatenate along the last axis; the other axes broadcast."""
        ones = [Tensor(each.name, (*each.shape[:-1], ONE)) for each in (x, y)]
        return self._write(OperationKind.JOIN, name, (x, y), (*self._broadcast(name, *ones)[:-1], x.width + y.width))

    def prepend(self, name: str, x: Tensor, y: Tensor) -> Tensor:
        """x[B,a,E], y[B,b,E] -> z[B,a+b,E]: concatenate along the sequence; the other axes broadcast."""
        ones = [Tensor(each.name, (each.shape[0], ONE, each.width)) for each in (x, y)]
        batch, _, width = self._broadcast(name, *ones)
        return self._write(OperationKind.JOIN, name, (x, y), (batch, x.shape[1] + y.shape[1], width), function="tokens")

    def append_keys(self, name: str, x: Tensor, y: Tensor) -> Tensor:
        """x[B,G,S,D], y[B,G,T,D] -> z[B,G,S+T,D]: further keys after the keys of tokens."""
        batch, heads, length, width = x.shape
        self._same(self._path(name), "the heads and the widths of the keys", (*x.shape[1::2],), (*y.shape[1::2],))
        shape = (batch, heads, length + y.shape[2], width)
        return self._write(OperationKind.JOIN, name, (x, y), shape, function="tokens")

    def copies(self, name: str, x: Tensor, count: Expr) -> Tensor:
        """x[B,S,E] -> y[B,S,N,E]: N copies of each token, such as residual streams."""
        batch, length, width = x.shape
        return self._write(OperationKind.JOIN, name, (x,), (batch, length, count, width), function=COPIES)

    def join_streams(self, name: str, x: Tensor) -> Tensor:
        """x[B,S,N,E] -> y[B,S,N·E]: the rows of each token side by side, such as residual streams."""
        batch, length, streams, width = x.shape
        return self._write(OperationKind.JOIN, name, (x,), (batch, length, streams * width), function=ROW)

    def collapse_streams(self, name: str, x: Tensor, weights: Tensor) -> Tensor:
        """x[B,S,N,E], w[B,S,N] -> y[B,S,E]: the weighted sum of the streams of each token, elementwise."""
        self._same(self._path(name), "the streams and their weights", x.shape[:3], weights.shape)
        shape = (*x.shape[:2], x.width)
        return self._write(OperationKind.COMBINE, name, (x, weights), shape, function=STREAMS)

    def expand_streams(self, name: str, x: Tensor, weights: Tensor) -> Tensor:
        """x[B,S,E], w[B,S,N] -> y[B,S,N,E]: each token, multiplied by the weight of each stream."""
        self._same(self._path(name), "the tokens and the weights", x.shape[:2], weights.shape[:2])
        shape = (*weights.shape, x.width)
        return self._write(OperationKind.MULTIPLY, name, (x, weights), shape, function=STREAMS)

    def mix_streams(self, name: str, x: Tensor, weights: Tensor) -> Tensor:
        """x[B,S,N,E], w[B,S,N²] -> y[B,S,N,E]: for each token, wᵀ · x, a matrix product."""
        batch, length, streams, _ = x.shape
        self._same(self._path(name), "the streams and their weights", (batch, length, streams**2), weights.shape)
        square = weights.view((batch, length, streams, streams))
        return self._write(OperationKind.MATCH, name, (square, x), x.shape, function=STREAMS)

    def select(self, name: str, x: Tensor, *, each: bool = False) -> Tensor:
        """x[B,S,E] -> y[B,E]: one position per sequence; with ``each`` it differs by sequence, which needs a copy."""
        function = INDEXED if each else ""
        return self._write(OperationKind.SELECT, name, (x,), (x.shape[0], *x.shape[2:]), function=function)

    def without_first(self, name: str, x: Tensor) -> Tensor:
        """x[B,S,E] -> y[B,S-1,E]: every position but the first, as a view."""
        batch, length, width = x.shape
        return self._write(OperationKind.SELECT, name, (x,), (batch, length - 1, width), function=REST)

    def shift(self, name: str, x: Tensor) -> Tensor:
        """x[B,S,E] -> y[B,S,E]: for each position the previous one, and zeros for the first."""
        return self._write(OperationKind.SELECT, name, (x,), x.shape, function=SHIFTED)

    def part_of_sequence(self, name: str, x: Tensor, length: Expr, function: Literal["first", "last"]) -> Tensor:
        """x[B,S,E] -> y[B,length,E]: the first or the last positions, as a view."""
        return self._write(OperationKind.SELECT, name, (x,), (x.shape[0], length, *x.shape[2:]), function=function)

    def earlier(self, name: str, x: Tensor, layers: Expr) -> Tensor:
        """x[B,S,E] -> y[B,S,E]: the output of an earlier layer, given that of the last; ``layers`` are between them."""
        return self._write(OperationKind.SELECT, name, (x,), x.shape, function=EARLIER, skipped=layers)

    def listed(self, name: str, x: Tensor) -> Tensor:
        """x[B,S,E] -> y[B,S,E]: the outputs of the layers that a list names, one of which each copy of a part reads."""
        return self._write(OperationKind.SELECT, name, (x,), x.shape, function=LISTED)

    def image_tokens(self, name: str, x: Tensor, y: Tensor) -> Tensor:
        """x[B,S,E], y[B_vis,n,E] -> z[B_vis,n,E]: the rows of x that rows of y belong to, such as images."""
        self._same(self._path(name), "the widths of the tokens", x.shape[2:], y.shape[2:])
        return self._write(OperationKind.SELECT, name, (x, y), y.shape, function=PLACED)

    def scatter(self, name: str, x: Tensor, y: Tensor) -> Tensor:
        """x[B,S,E], y[B_vis,n,E] -> z[B,S,E]: the rows of y, such as the tokens of images, replace rows of x."""
        self._same(self._path(name), "the widths of the tokens", x.shape[2:], y.shape[2:])
        return self._write(OperationKind.JOIN, name, (x, y), x.shape, function=SCATTERED)

    def windows(self, name: str, x: Tensor, side: Expr, window: Expr) -> Tensor:
        """x[B,n²,E] -> y[B·⌈n/w⌉²,w²,E]: the square windows of a square of n² tokens, filled up with zeros."""
        self._same(self._path(name), "the tokens of a square and of x", (side**2,), x.shape[1:2])
        shape = (x.shape[0] * ceiling(side / window) ** 2, window**2, x.width)
        return self._write(OperationKind.JOIN, name, (x,), shape, function=WINDOWS)

    def without_windows(self, name: str, x: Tensor, batch: Expr, side: Expr) -> Tensor:
        """x[B·⌈n/w⌉²,w²,E] -> y[B,n²,E]: the tokens of a square, given those of its windows."""
        return self._write(OperationKind.JOIN, name, (x,), (batch, side**2, x.width), function=UNWINDOWED)

    def stream(self, name: str, x: Tensor) -> Tensor:
        """x[B,N,S,E] -> y[B,S,E]: one of N residual streams, as a view."""
        return self._write(OperationKind.SELECT, name, (x,), (x.shape[0], *x.shape[2:]), function=STREAM)

    def other_streams(self, name: str, x: Tensor) -> Tensor:
        """x[B,N,S,E] -> y[B,N-1,S,E]: every residual stream but the first, as a view."""
        shape = (x.shape[0], x.shape[1] - 1, *x.shape[2:])
        return self._write(OperationKind.SELECT, name, (x,), shape, function=OTHER_STREAMS)

    def prepend_stream(self, name: str, x: Tensor, y: Tensor) -> Tensor:
        """x[B,S,E], y[B,N-1,S,E] -> z[B,N,S,E]: a residual stream before others."""
        self._same(self._path(name), "the streams that are joined", x.shape, (y.shape[0], *y.shape[2:]))
        shape = (x.shape[0], y.shape[1] + 1, *x.shape[1:])
        return self._write(OperationKind.JOIN, name, (x, y), shape, function=JOINED_STREAMS)

    def mean_of_streams(self, name: str, x: Tensor) -> Tensor:
        """x[B,N,S,E] -> y[B,S,E]: the mean of N residual streams."""
        return self._write(OperationKind.COMBINE, name, (x,), (x.shape[0], *x.shape[2:]), function=AVERAGED)

    def gather(self, name: str, x: Tensor, length: Expr, by: Literal["query", "key"] = "query") -> Tensor:
        """s[B,A,S,a] -> y[B,A,S,length]: for each query and key, the column of their distance.

        The rows of s belong to the queries, or to the keys with by="key"; the rows of y belong to the queries.
        """
        return self._write(OperationKind.SELECT, name, (x,), (*x.shape[:-1], length), function=f"by {by}")

    def pairwise_products(self, name: str, x: Tensor, y: Tensor) -> Tensor:
        """x[…,a,E], y[…,b,E] -> s[…,a,b]: the product of each row of one with each row of the other."""
        self._same(self._path(name), "the widths of the matched tensors", x.shape[-1:], y.shape[-1:])
        self._same(self._path(name), "the leading axes of the matched tensors", x.shape[:-2], y.shape[:-2])
        return self._write(OperationKind.MATCH, name, (x, y), (*x.shape[:-1], y.shape[-2]))

    def route(self, name: str, x: Tensor, chosen: Expr, function: str = "") -> Tensor:
        """x[B,S,X] -> w[B,S,K]: choose K of the X experts, with their weights.

        ``function`` is the name of the code of the router in `ROUTERS`, or "" if it is not known.
        """
        return self._write(OperationKind.ROUTE, name, (x,), (*x.shape[:-1], chosen), function=function)

    def combine(self, name: str, x: Tensor, weights: Tensor | None = None) -> Tensor:
        """x[B,S,K,E], w[B,S,K] -> y[B,S,E]: the sum over K, weighted if there are weights."""
        if weights is None:
            return self._write(OperationKind.COMBINE, name, (x,), (*x.shape[:-2], x.width))
        self._same(self._path(name), "the axes of the summed tensor and of its weights", x.shape[:-1], weights.shape)
        return self._write(OperationKind.COMBINE, name, (x, weights), (*x.shape[:-2], x.width))

    def pool(self, name: str, x: Tensor, length: Expr) -> Tensor:
        """x[B,S,E] -> y[B,length,E]: the mean of each square of neighbouring positions, which form a square image."""
        return self._write(OperationKind.COMBINE, name, (x,), (x.shape[0], length, x.width), function=POOLED)

    def resample(self, name: str, x: Tensor) -> Tensor:
        """x[…, 4, E] -> y[…, E]: the mean of the rows of the nearest positions, weighted by their distance."""
        return self._write(OperationKind.COMBINE, name, (x,), (*x.shape[:-2], x.width), function=RESAMPLED)

    def sum_rows(self, name: str, x: Tensor) -> Tensor:
        """x[…, E] -> y[…, 1]: the sum over the last axis."""
        return self._write(OperationKind.COMBINE, name, (x,), (*x.shape[:-1], ONE), function=SUMMED)

    def magnitude(self, name: str, x: Tensor) -> Tensor:
        """x[…, E] -> y[…, 1]: the root of the mean square of the last axis."""
        return self._write(OperationKind.COMBINE, name, (x,), (*x.shape[:-1], ONE), function=MAGNITUDE)

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
        """x[B,A,S,D], step[B,S,A], write and read[B,G,S,N] -> y[B,A,S,D]: a scan with a state [D,N] per head.

        At each token the state decays and adds x ⊗ ``write``, both scaled by the token's step; y is state · ``read``.
        """
        path = self._path(name)
        self._same(path, "the heads and the tokens of a scan and of its steps", x.shape[1:3], step.shape[:0:-1])
        self._same(path, "the shapes of write and read in a scan", write.shape, read.shape)
        self._same(path, "the tokens of a scan and of write", x.shape[2:3], write.shape[2:3])
        facts = {"shared": tuple(shared.values()), "chunk": chunk}
        return self._write(OperationKind.SCAN, name, (x, step, write, read), x.shape, **facts)

    def delta_rule(
        self,
        name: str,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        decay: Tensor,
        strength: Tensor,
        shared: Mapping[str, Weight],
        chunk: Expr,
    ) -> Tensor:
        """Q and k[B,G,S,D], v[B,A,S,N], strength[B,S,A] -> y[B,A,S,N]: the gated delta rule, a state [D,N] per head.

        Queries and keys are divided by their lengths. At each token the state decays and then changes toward ``v`` for
        the key ``k``, by a share of ``strength``; y is the state read with ``q``. ``decay`` has one number per head,
        [B,S,A], or one per row of the state, [B,S,A·D].
        """
        path = self._path(name)
        self._same(path, "the shapes of queries and keys in a delta rule", q.shape, k.shape)
        self._same(path, "the tokens of keys and values in a delta rule", k.shape[2:3], v.shape[2:3])
        self._same(path, "the heads and the tokens of values and strengths", v.shape[1:3], strength.shape[:0:-1])
        by_row = not equal(decay.width, strength.width)
        heads = v.shape[1] * (k.width if by_row else 1)
        self._same(path, "the decays and the heads, or the rows of all states", (heads,), decay.shape[2:])
        facts = {"shared": tuple(shared.values()), "chunk": chunk, "function": BY_ROW if by_row else ""}
        return self._write(OperationKind.DELTA_RULE, name, (q, k, v, decay, strength), v.shape, **facts)

    def general_delta_rule(
        self, name: str, r: Tensor, k: Tensor, v: Tensor, decay: Tensor, removal: Tensor, rate: Tensor
    ) -> Tensor:
        """Inputs[B,A,S,D] -> y[B,A,S,D]: the generalized delta rule, token by token, with a state h[D,D] per head.

        h becomes h · diag(decay) - (h · removal) ⊗ (rate · removal) + v ⊗ k, and y is h · r.
        """
        for each in (k, v, decay, removal, rate):
            self._same(self._path(name), "the shapes of the inputs of a delta rule", r.shape, each.shape)
        inputs = (r, k, v, decay, removal, rate)
        return self._write(OperationKind.DELTA_RULE, name, inputs, v.shape, function=GENERAL)

    def recurrence(self, name: str, x: Tensor, shared: Mapping[str, Weight]) -> Tensor:
        """x[B,A,S,D] -> y[B,A,S,D]: a gated linear recurrence with a state of one number per channel.

        At each token the state decays and adds the gated ``x``; y is the state. Each of two gates multiplies x by a
        stored matrix [D,D] per head, and the decay also depends on a stored number per channel.
        """
        return self._write(OperationKind.RECURRENCE, name, (x,), x.shape, shared=tuple(shared.values()))

    def compress(
        self,
        name: str,
        x: Tensor,
        gate: Tensor,
        rate: Expr,
        stored: Mapping[str, Weight],
        *,
        overlapping: bool = False,
    ) -> Tensor:
        """X and gate[B,S,D] -> y[B,⌊S/m⌋,D]: one entry for each ``rate`` = m tokens, without the last S mod m tokens.

        The entry is the sum of the tokens, weighted per element by a softmax over them of the gates plus a stored bias.
        With ``overlapping``, y has width D/2: the second half of the elements of the m tokens and the first half of
        the elements of the preceding m tokens form an entry together.
        """
        self._same(self._path(name), "the shapes of the tokens and of their gates", x.shape, gate.shape)
        batch, length, width = x.shape
        shape = (batch, floor(length / rate), width / 2 if overlapping else width)
        facts = {"shared": tuple(stored.values()), "function": OVERLAPPING if overlapping else "", "compressed": rate}
        return self._write(OperationKind.COMPRESS, name, (x, gate), shape, **facts)

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
        chosen: Expr | None = None,
        compressed: Expr | None = None,
        capped: bool = False,
        blocks: bool = False,
        reused: bool = False,
    ) -> Tensor:
        """q[B,A,S,D], k[B,G,C,D] -> s[B,A,S,C]: products of queries and keys per head, scaled by 1 / sqrt(D).

        With ``chosen``, each query attends to that many keys, which `choose_keys` determines. With ``compressed``, the
        last keys are entries of that many tokens each, and ``chosen`` counts these only. Keys that are ``reused`` are
        computed and cached by an earlier layer.
        """
        self._same(self._path(name), "the head width of queries and keys", q.shape[-1:], k.shape[-1:])
        facts = {"mask": mask, "window": window, "whole": whole, "chunked": chunked, "chosen": chosen}
        facts |= {"latent": latent, "function": scale, "recalled": recalled, "capped": capped, "blocks": blocks}
        facts |= {"compressed": compressed, "reused": reused}
        return self._write(OperationKind.SCORES, name, (q, k), (*q.shape[:3], k.shape[2]), **facts)

    def distance_scores(
        self, name: str, q: Tensor, table: Tensor, side: Expr, axis: Literal["rows", "columns"]
    ) -> Tensor:
        """q[B,A,n²,D], table[2n-1,D] -> s[B,A,n²,n]: for each query of a square of tokens, its products with n rows.

        These are the rows of the table for the distances between the query and the n rows, or columns, of the square.
        """
        self._same(
            self._path(name), "the distances along a side and the rows of the table", (2 * side - 1,), table.shape[:1]
        )
        rows = table.view((ONE, ONE, side, table.width))
        return self._write(OperationKind.SCORES, name, (q, rows), (*q.shape[:3], side), function=axis, mask="none")

    def softmax(self, name: str, x: Tensor, function: str = "", sinks: Mapping[str, Weight] = _OWN) -> Tensor:
        """Apply softmax over the last axis; ``function`` is ``float32`` if it runs in float32 for every input dtype.

        With ``sinks``, each head has a learned sink logit that takes part in the softmax and is then dropped.
        """
        return self._write(OperationKind.SOFTMAX, name, (x,), x.shape, function=function, shared=tuple(sinks.values()))

    def weighted_values(
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
        chosen: Expr | None = None,
        compressed: Expr | None = None,
        keyed: bool = False,
        blocks: bool = False,
        reused: bool = False,
        function: str = "",
    ) -> Tensor:
        """p[B,A,S,C], v[B,G,C,D] -> y[B,A,S,D]: the weighted sum of values per head.

        ``function`` is ``by head`` if a token's heads are not contiguous in memory, as when queries are concatenated
        from a rotated and an unrotated part; merging the heads then makes a copy. With ``keyed``, the values are the
        keys.
        """
        self._same(self._path(name), "the number of keys and of values", p.shape[-1:], v.shape[2:3])
        facts = {"mask": mask, "window": window, "whole": whole, "chunked": chunked, "chosen": chosen}
        facts |= {"latent": latent, "function": function, "blocks": blocks, "compressed": compressed, "keyed": keyed}
        facts["reused"] = reused
        return self._write(OperationKind.MIX, name, (p, v), (*p.shape[:3], v.shape[3]), **facts)

    def choose_keys(
        self, name: str, s: Tensor, weights: Tensor, count: Expr, *, function: Literal["", "by head"] = ""
    ) -> Tensor:
        """s[B,A,S,C], w[B,S,A] -> m[B,1,S,C]: choose ``count`` keys for each query, by weighted sums of its scores.

        The output is a mask to add to other scores: 0 for the chosen keys, and minus infinity for the others. The sums
        are a matrix product, or elementwise with function="by head".
        """
        batch, heads, queries, keys = s.shape
        self._same(self._path(name), "the heads of the scores and of their weights", weights.shape[-1:], (heads,))
        facts: dict[str, Any] = {each: getattr(s, each) for each in MASKED} | {"chosen": count}
        facts |= {"function": BY_HEAD if function else ""}
        return self._write(OperationKind.CHOOSE, name, (s, weights), (batch, ONE, queries, keys), **facts)

    def add_to_compressed(self, name: str, s: Tensor, mask: Tensor) -> Tensor:
        """s[B,A,S,C+T], m[B,1,S,T] -> y[B,A,S,C+T]: add m to the scores of the T compressed keys."""
        return self._write(OperationKind.ADD, name, (s, mask), s.shape, function=COMPRESSED)

    # -- views: no entry, the same storage -----------------------------------------------------------------------

    def split(self, x: Tensor, widths: Sequence[Expr]) -> list[Tensor]:
        """x[…, a+b+…] -> [x[…, a], x[…, b], …]."""
        self._same(self._path(""), "the pieces of a split", (sum(widths, Integer(0)),), x.shape[-1:])
        return [replace(x.view((*x.shape[:-1], width)), place=place) for place, width in enumerate(widths)]

    def heads(self, x: Tensor, heads: Expr, width: Expr) -> Tensor:
        """x[B,S,A·D] -> x[B,A,S,D]."""
        self._same(self._path(""), "heads times head width", (heads * width,), x.shape[-1:])
        return x.view((x.shape[0], heads, x.shape[1], width))

    def repeat_heads(self, x: Tensor, heads: Expr) -> Tensor:
        """x[B,G,S,D] -> x[B,A,S,D]: a view that repeats each key/value head for its query heads."""
        return x.view((x.shape[0], heads, *x.shape[2:]))

    def merge(self, x: Tensor) -> Tensor:
        """x[B,A,S,D] -> x[B,S,A·D]."""
        return x.view((x.shape[0], x.shape[2], x.shape[1] * x.shape[3]))

    def channels_first(self, x: Tensor) -> Tensor:
        """x[B,S,E] -> x[B,E,S]: the input layout of a convolution over a sequence."""
        return x.view((x.shape[0], x.shape[2], x.shape[1]))

    def channels_last(self, x: Tensor) -> Tensor:
        """x[B,E,…] -> x[B,S,E]: the positions of a convolution as a sequence."""
        return x.view((x.shape[0], Mul(*x.shape[2:]), x.shape[1]))

    # -- recording -----------------------------------------------------------------------------------------------

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
            raise ShapeError(f"{weight.path} is stored twice; rename one of the two operations")
        self._weights[weight.path] = weight
        return weight

    def _weights_of(self, name: str, wanted: dict[str, Shape], shared: Mapping[str, Weight]) -> tuple[Weight, ...]:
        for part, weight in shared.items():
            self._same(self._path(name), f"the shared {part} and the required one", weight.shape, wanted[part])
        return tuple(self._store(name, part, shape) for part, shape in wanted.items() if part not in shared)

    def _write(self, kind: OperationKind, name: str, inputs: tuple[Tensor, ...], shape: Shape, **facts: Any) -> Tensor:
        path = self._path(name)
        has_weights = bool(facts.get("weights") or facts.get("shared"))
        if not facts.get("weights") and any(f".{path}".endswith(f".{name}") for name in self._functions):
            facts["module"] = False
        trained = has_weights and not facts.get("fixed") and self._trained(kind, path)
        facts = {**facts, "frozen": has_weights and not trained, "used": self._used, "detached": self._detached}
        grad = ONE if trained else max((x.grad for x in inputs), key=_share, default=ZERO)
        grad = ZERO if self._detached else grad
        # Elementwise operations on scores (softmax, dropout, an added bias) have the same mask as the scores.
        like = next((x for x in inputs if x.mask != "none" and x.shape == shape), None)
        if like is not None:
            facts = {name: getattr(like, name) for name in MASKED} | facts
        pairs = {} if kind is OperationKind.MIX else {name: facts[name] for name in MASKED if name in facts}
        encoded = all(x.encoded for x in inputs) if inputs else given(path, shape).encoded
        encoded |= facts.get("function") == PLACED  # the tokens of images are known before the first new token
        output = Tensor(path, shape, None, grad, encoded=encoded, **pairs)
        self._scopes[-1].items.append(Entry(kind, path, inputs, output, **facts))
        return output

    def _broadcast(self, name: str, x: Tensor, y: Tensor) -> Shape:
        if len(x.shape) != len(y.shape):
            raise ShapeError(
                f"{self._path(name)}: {spell(x.shape)} and {spell(y.shape)} have different numbers of axes"
            )
        for axis, (left, right) in enumerate(zip(x.shape, y.shape, strict=True)):
            if 1 not in (left, right) and not equal(left, right):
                raise ShapeError(
                    f"{self._path(name)}: axis {axis} has sizes {text(left)} and {text(right)}, which do not broadcast"
                )
        return tuple(right if left == 1 else left for left, right in zip(x.shape, y.shape, strict=True))

    def _same(self, path: str, what: str, left: Shape, right: Shape) -> None:
        if len(left) != len(right) or not all(equal(a, b) for a, b in zip(left, right, strict=True)):
            raise ShapeError(f"{path}: {what} differ: {spell(left)} and {spell(right)}")

    # Former names
    look_back = Alias("causal_depthwise_convolution")
    waves = Alias("sinusoids")
    precede = Alias("prepend")
    match = Alias("pairwise_products")
    spread = Alias("repeat_heads")
    mix = Alias("weighted_values")
    join = Alias("concatenate")


def _slides(length: Expr, kernel: Expr, stride: Expr | int, padding: Expr | int) -> Expr:
    """Return the number of positions of a sliding kernel."""
    steps = cancel((length + 2 * padding - kernel) / stride)
    return cancel((floor(steps) if isinstance(stride, int) else steps) + 1)


def _share(grad: Expr) -> int:
    return 0 if grad == 0 else 2 if grad == 1 else 1
