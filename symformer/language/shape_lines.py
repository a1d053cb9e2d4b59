"""Shape lines such as ``x[B,S,E] -> y[B,S,E]``: the input and output shapes of a part."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from sympy import Expr, Symbol

from .arithmetic import parse
from .errors import ShapeError
from .notation.text import text
from .symbols import B, S

Shape = tuple[Expr, ...]

_TENSOR = re.compile(r"(\w+)\[([^\]]*)\]")


@dataclass(frozen=True)
class Axes:
    """One tensor of a shape line; with ``leading`` (``...``), any axes may precede the named ones."""

    name: str
    dims: Shape
    leading: bool

    @property
    def example(self) -> Shape:
        """A complete shape, in which ``...`` is replaced by a batch of sequences."""
        return (B, S, *self.dims) if self.leading else self.dims


@dataclass(frozen=True)
class ShapeLine:
    """A parsed shape line."""

    inputs: tuple[Axes, ...]
    outputs: tuple[Axes, ...]

    def check(self, where: str, inputs: Sequence[Shape], outputs: Sequence[Shape]) -> None:
        """Raise ShapeError unless the shapes match the line; a letter has the same size throughout."""
        bound: dict[Symbol, Expr] = {}
        for axes, shape in zip(self.inputs, inputs, strict=False):
            _fit(where, axes, shape, bound, bind=True)
        for axes, shape in zip(self.outputs, outputs, strict=False):
            _fit(where, axes, shape, bound, bind=False)


@lru_cache(maxsize=256)
def shape_line(line: str) -> ShapeLine:
    """Parse a shape line.

    >>> [axes.name for axes in shape_line("q[B,A,S,D], k[B,G,S,D] -> y[B,A,S,D]").inputs]
    ['q', 'k']
    """
    before, arrow, after = line.partition("->")
    if not arrow:
        raise ShapeError(f"the shape line {line!r} has no arrow; write it as x[B,S,E] -> y[B,S,E]")
    return ShapeLine(_tensors(before), _tensors(after))


def spell(shape: Shape) -> str:
    """Return a shape for messages: ``[B, S, E]``."""
    return "[" + ", ".join(text(dim) for dim in shape) + "]"


def _tensors(part: str) -> tuple[Axes, ...]:
    found = []
    for name, dims in _TENSOR.findall(part):
        names = [dim.strip() for dim in dims.split(",")]
        leading = names[0] == "..."
        found.append(Axes(name, tuple(parse(dim) for dim in names[leading:]), leading))
    return tuple(found)


def _fit(where: str, axes: Axes, shape: Shape, bound: dict[Symbol, Expr], *, bind: bool) -> None:
    tail = shape[len(shape) - len(axes.dims) :] if axes.leading else shape
    if len(tail) != len(axes.dims):
        raise ShapeError(
            f"{where}: {axes.name} is {spell(shape)}, which has {len(shape)} axes instead of {len(axes.dims)}"
        )
    for axis, (dim, actual) in enumerate(zip(axes.dims, tail, strict=True)):
        if isinstance(dim, Symbol) and dim not in bound:
            if bind:
                bound[dim] = actual
            continue
        expected = dim.xreplace(bound)
        if expected.free_symbols and not bind and not dim.free_symbols <= bound.keys():
            continue  # an output size that no input determines
        if expected != actual:
            raise ShapeError(f"{where}: axis {axis} of {axes.name} is {text(actual)} instead of {text(expected)}")
