"""The contents of a figure as data: boxes, sums, frames around repeated layers, and arrows; without positions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sympy import Expr

from ...language.notation.display_tree import Tree
from ...language.notation.text import percent, text
from ...language.shape_lines import Shape
from ...ledger.facts import ONE
from ...output.blocks import Line, plain
from .expert_choice import ExpertChoice
from .layer_strip import LayerStrip


@dataclass(frozen=True)
class Amount:
    """An amount: the formula of one copy, its number, and the share of all copies in the whole."""

    each: Expr
    shown: Expr  # the same formula, as printed
    value: int | Fraction | None = None
    share: Fraction | None = None
    stated: bool = True  # whether the formula is printed


@dataclass(frozen=True)
class Box:
    """A part or an operation. The boxes of a figure sum to the whole."""

    key: str
    title: str
    name: str  # the name in torch
    role: str
    amount: Amount
    copies: Expr = ONE  # in the whole
    times: Expr = ONE  # in its frame
    notes: Sequence[Line] = ()
    paths: Sequence[str] = ()  # the paths of its operations
    differs: bool | None = None  # whether it differs from the matching box of another model; None without another model
    experts: ExpertChoice | None = None  # the choice of experts in it
    structure: Sequence[str] = ()  # its computation, without sizes: its mask, its activation, its biases
    lift: float = 0.0  # additional space below its row


@dataclass(frozen=True)
class Plus:
    """A sum of its incoming arrows; ``paths`` are the additions that it represents."""

    key: str
    paths: Sequence[str]
    lift: float = 0.0  # additional space below its row


@dataclass(frozen=True)
class Arrow:
    """An arrow between two nodes. An arrow from outside has a port instead of a source; a leaving one has no target."""

    source: str
    target: str
    shape: Shape | None = None
    leaves: int = 0  # the port of the graph, if there is no source
    enters: int = 0  # the port of the target frame
    view: int = 0  # the index among pieces of one tensor that an operation reads, such as queries and keys
    role: str = ""  # what attention reads it as: "q", "k" or "v", or several, as "k, v"
    label: Line = ()  # the text next to its head: its role and its shape, where the shape changes
    tap: bool = False  # whether it starts at the outputs of the repeated layers in its source, and not at its output


@dataclass(frozen=True)
class Graph:
    """Nodes and the arrows between them; ``ports`` are the names of its inputs."""

    nodes: Sequence[Node]
    arrows: Sequence[Arrow] = ()
    ports: Sequence[Line] = ()
    gives: Sequence[str] = ()  # the nodes that compute its outputs
    results: Sequence[Line] = ()  # the names of its outputs

    def boxes(self) -> Iterator[Box]:
        """Yield every box, including those in frames."""
        for node in self.nodes:
            if isinstance(node, Box):
                yield node
            elif isinstance(node, Frame):
                yield from node.graph.boxes()

    def graphs(self) -> Iterator[Graph]:
        """Yield this graph and the graphs of all frames."""
        yield self
        for node in self.nodes:
            if isinstance(node, Frame):
                yield from node.graph.graphs()


@dataclass(frozen=True)
class Frame:
    """A frame around repeated layers or a separate tower, with its graph."""

    key: str
    title: str
    name: str
    graph: Graph
    amount: Amount
    times: Expr = ONE  # the number of repetitions
    number: int | None = None  # the value of ``times``
    notes: Sequence[Line] = ()
    differs: bool = False
    kind: int | None = None  # the number of its kind of layers in the strip of layers
    mixed: bool = False  # whether it contains the kinds of layers of one list, without arrows between them
    strip: LayerStrip | None = None  # the order of these layers, if it is known
    stacked: bool = False  # whether it is one of several parallel copies, such as experts
    lift: float = 0.0  # additional space below its row
    tap: str | None = None  # the node in it whose layers' outputs an arrow reads; "" for its own layers, None for none
    bracketed: bool = True  # whether the number of repetitions is next to a bracket, and not in its head


Node = Box | Plus | Frame


@dataclass(frozen=True)
class Figure:
    """The figure of one model or part: its name, its total and its graph."""

    title: str
    target: str
    letter: Tree  # the symbol of the quantity
    unit: str
    amount: Amount
    graph: Graph
    notes: Sequence[str] = ()
    strips: Sequence[LayerStrip] = ()
    filled: bool = True  # whether it states the amounts
    shared: Sequence[str] = ()  # notes below all columns, if it is the first of several narrow columns
    narrow: bool = False  # whether it is a narrow column: without formulas
    kinds: bool = False  # whether a part of a layer is in a frame for each kind of layers, with a share for each

    @property
    def repeats(self) -> bool:
        """Whether any box has more than one copy."""
        return any(box.copies != 1 for box in self.graph.boxes())

    @property
    def alt(self) -> str:
        """The alternative text, for screen readers."""
        total = "" if self.amount.value is None else f" = {self.amount.value:,}"
        whole = f": {text(self.letter)} = {text(self.amount.shown)}{total} {self.unit}" if self.filled else ""
        said = f"{self.title} ({self.target}){whole}."
        said += "".join(f" Layers, from the first: {strip.words()}." for strip in self.strips)
        return f"{said} {'; '.join(_said(self.graph, self.filled))}."


def _said(graph: Graph, filled: bool) -> Iterator[str]:
    """Yield the nodes of a graph in words, each with its amount if the figure is ``filled``."""
    for node in graph.nodes:
        if isinstance(node, Box):
            words = " ".join(filter(None, (node.title, node.name)))
            words += f", {plain(node.experts.line)}" if node.experts else ""
            share = "" if node.amount.share is None else f" ({percent(node.amount.share)})"
            yield f"{words}: {text(node.amount.shown)}{share}" if filled and node.amount.shown != 0 else words
        elif isinstance(node, Frame):
            times = f"{text(node.times)} times " if node.times != 1 else ""
            yield f"{times}{node.title or node.name} ({'; '.join(_said(node.graph, filled))})"
