"""What stands in a figure, as data: boxes, sums, frames around what repeats, and arrows. Nothing here has a place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sympy import Expr

from ...language.notation.text import percent, text
from ...language.notation.tree import Tree
from ...language.shapes import Shape
from ...ledger.facts import ONE
from ..blocks import Line


@dataclass(frozen=True)
class Amount:
    """What something comes to: the formula of one copy, its number, and the share that all copies have in the whole."""

    each: Expr
    shown: Expr  # the same, as it is printed
    value: int | Fraction | None = None
    share: Fraction | None = None


@dataclass(frozen=True)
class Box:
    """A part or an operation. All boxes of a figure together are the whole that it is of."""

    key: str
    title: str
    name: str  # as torch has it
    role: str
    amount: Amount
    copies: Expr = ONE  # in the whole
    times: Expr = ONE  # right here
    notes: Sequence[Line] = ()
    paths: Sequence[str] = ()  # of the operations in it
    differs: bool = False  # from what stands there in another model


@dataclass(frozen=True)
class Plus:
    """A sum of what its arrows bring; ``paths`` are the additions that it stands for."""

    key: str
    paths: Sequence[str]


@dataclass(frozen=True)
class Arrow:
    """From one thing to another. What comes from outside has no source but a port; what leaves has no target."""

    source: str
    target: str
    shape: Shape | None = None
    leaves: int = 0  # by which port of the graph, where there is no source
    enters: int = 0  # by which port of a frame
    view: int = 0  # of several pieces of one tensor that an operation reads, such as queries and keys, which


@dataclass(frozen=True)
class Graph:
    """Things and the arrows between them; ``ports`` are what it reads from outside, by what it is called there."""

    nodes: Sequence[Node]
    arrows: Sequence[Arrow] = ()
    ports: Sequence[Line] = ()
    gives: Sequence[str] = ()  # what its results come from
    results: Sequence[Line] = ()  # and what these are called

    def boxes(self) -> Iterator[Box]:
        """Every box, in frames too."""
        for node in self.nodes:
            if isinstance(node, Box):
                yield node
            elif isinstance(node, Frame):
                yield from node.graph.boxes()

    def graphs(self) -> Iterator[Graph]:
        """Itself and the graphs of all frames."""
        yield self
        for node in self.nodes:
            if isinstance(node, Frame):
                yield from node.graph.graphs()


@dataclass(frozen=True)
class Frame:
    """What is repeated, or a tower of its own, with what stands in it."""

    key: str
    title: str
    name: str
    graph: Graph
    amount: Amount
    times: Expr = ONE  # how often it stands there
    number: int | None = None  # how often that is
    notes: Sequence[Line] = ()
    differs: bool = False


Node = Box | Plus | Frame


@dataclass(frozen=True)
class Figure:
    """One model or part: its name, what it comes to, and the graph."""

    title: str
    target: str
    letter: Tree  # of what is counted
    unit: str
    amount: Amount
    graph: Graph
    notes: Sequence[str] = ()
    shapes: bool = False  # whether arrows have shapes

    @property
    def repeats(self) -> bool:
        """Whether something stands in it more than once."""
        return any(box.copies != 1 for box in self.graph.boxes())

    @property
    def alt(self) -> str:
        """What it shows, in words, for who does not see it."""
        total = "" if self.amount.value is None else f" = {self.amount.value:,}"
        said = f"{self.title} ({self.target}): {text(self.letter)} = {text(self.amount.shown)}{total} {self.unit}."
        return f"{said} {'; '.join(_said(self.graph))}."


def _said(graph: Graph) -> Iterator[str]:
    """The things of a graph, each with what it comes to."""
    for node in graph.nodes:
        if isinstance(node, Box):
            words = " ".join(filter(None, (node.title, node.name)))
            share = "" if node.amount.share is None else f" ({percent(node.amount.share)})"
            yield f"{words}: {text(node.amount.shown)}{share}" if node.amount.shown != 0 else words
        elif isinstance(node, Frame):
            times = f"{text(node.times)} times " if node.times != 1 else ""
            yield f"{times}{node.title or node.name} ({'; '.join(_said(node.graph))})"
